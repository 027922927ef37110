#include "train/llmc_weights.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "train/json_file.h"
#include "train/weight_names.h"

namespace lehi::train {
namespace {

static_assert(std::endian::native == std::endian::little, "the format stores little-endian numbers");

constexpr std::int32_t kMagic = 20240326;
constexpr std::int64_t kPadding = 128;
constexpr std::int64_t kMostLayers =
    1000;  // ten times more than any model; each takes a few kilobytes of names and offsets
constexpr std::int64_t kHeadWidth = 64;
constexpr std::array<std::int64_t, 4> kGpt2Widths = {768, 1024, 1280, 1600};
using HeaderWords = std::array<std::int32_t, 256>;

struct Gpt2Sizes {
  std::int64_t positions = 0;
  std::int64_t vocabulary = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;
  std::int64_t rows = 0;  ///< of the embedding in llm.c's file
};

struct LlmcHeader {
  Gpt2Sizes sizes;
  torch::ScalarType type = torch::kFloat32;
};

/// One tensor of the file.
struct StoredPart {
  std::string name;
  std::vector<std::int64_t> shape;  ///< Hugging Face's
  bool transposed = false;
};

std::vector<StoredPart> in_llmc_order(const Gpt2Sizes& sizes) {
  const auto width = sizes.width;
  const std::vector<StoredPart> layer = {{"ln_1.weight", {width}},
                                         {"ln_1.bias", {width}},
                                         {"attn.c_attn.weight", {width, 3 * width}, true},
                                         {"attn.c_attn.bias", {3 * width}},
                                         {"attn.c_proj.weight", {width, width}, true},
                                         {"attn.c_proj.bias", {width}},
                                         {"ln_2.weight", {width}},
                                         {"ln_2.bias", {width}},
                                         {"mlp.c_fc.weight", {width, 4 * width}, true},
                                         {"mlp.c_fc.bias", {4 * width}},
                                         {"mlp.c_proj.weight", {4 * width, width}, true},
                                         {"mlp.c_proj.bias", {width}}};
  std::vector<StoredPart> parts = {{"wte.weight", {sizes.vocabulary, width}}, {"wpe.weight", {sizes.positions, width}}};
  for (const auto& part : layer) {
    for (std::int64_t i = 0; i < sizes.layers; ++i) {
      parts.push_back({fmt::format("h.{}.{}", i, part.name), part.shape, part.transposed});
    }
  }
  parts.push_back({"ln_f.weight", {width}});
  parts.push_back({"ln_f.bias", {width}});
  return parts;
}

/// In double, which does not overflow and is exact up to 2^53, more than the size of any file.
double elements_in(const Gpt2Sizes& sizes) {
  const auto width = static_cast<double>(sizes.width);
  return width * (static_cast<double>(sizes.rows + sizes.positions) +
                  static_cast<double>(sizes.layers) * (12.0 * width + 13.0) + 2.0);
}

LlmcHeader read_llmc_header(const InputFile& file) {
  const auto bad = [&](const std::string& why) {
    throw FileError(fmt::format("{} is not a GPT-2 checkpoint of llm.c: {}", file.path().string(), why));
  };
  HeaderWords words{};
  if (file.size() < sizeof(words)) bad(fmt::format("it has only {} bytes", file.size()));
  file.read_at(0, words.data(), sizeof(words));
  if (words[0] != kMagic) {
    bad(fmt::format("it begins with {}, not with {}; save files of PyTorch as .safetensors first", words[0], kMagic));
  }
  if (words[1] != 3 && words[1] != 5) {
    bad(fmt::format("its version is {}, expected 3 (float32) or 5 (bfloat16)", words[1]));
  }
  const LlmcHeader header{{words[2], words[3], words[4], words[5], words[6], words[7]},
                          words[1] == 3 ? torch::kFloat32 : torch::kBFloat16};
  const auto& sizes = header.sizes;
  if (*std::min_element(words.begin() + 2, words.begin() + 8) < 1 || sizes.layers > kMostLayers ||
      sizes.rows < sizes.vocabulary || sizes.width % sizes.heads != 0) {
    bad(fmt::format("{} positions, {} of {} tokens, {} layers, {} heads and width {} are not possible", sizes.positions,
                    sizes.vocabulary, sizes.rows, sizes.layers, sizes.heads, sizes.width));
  }
  const double bytes = elements_in(sizes) * static_cast<double>(torch::elementSize(header.type)) + sizeof(words);
  if (bytes != static_cast<double>(file.size())) {
    bad(fmt::format("its {} layers of width {} need {:.0f} bytes, it has {}", sizes.layers, sizes.width, bytes,
                    file.size()));
  }
  return header;
}

torch::Tensor read_part(const InputFile& file, std::uint64_t offset, const StoredPart& part, torch::ScalarType type) {
  auto shape = part.shape;
  if (part.transposed) std::swap(shape[0], shape[1]);
  const auto tensor = torch::empty(shape, torch::TensorOptions().dtype(type));
  file.read_at(offset, tensor.data_ptr(), tensor.nbytes());
  return part.transposed ? tensor.t().contiguous() : tensor;
}

std::int64_t heads_in(const std::string& config, std::int64_t width, const std::string& source) {
  if (config.empty()) {
    // OpenAI's four models have heads of width 64; the heads of another width are unknown.
    if (std::find(kGpt2Widths.begin(), kGpt2Widths.end(), width) != kGpt2Widths.end()) return width / kHeadWidth;
    throw FileError(fmt::format(
        "{} has width {}, and the number of heads is unknown; put a config.json with n_head beside it", source, width));
  }
  const auto where = fmt::format("the config.json of {}", source);
  const auto heads = count_field(parse_json(config, where), "n_head", where);
  if (heads < 1 || width % heads != 0) {
    throw FileError(fmt::format("{}: 'n_head' is {}, expected a divisor of the width {}", where, heads, width));
  }
  return heads;
}

using TensorsByName = std::map<std::string, const LazyTensor*>;

const LazyTensor& gpt2_parameter(const TensorsByName& tensors, const std::string& name, const std::string& source) {
  const auto found = tensors.find(name);
  if (found != tensors.end()) return *found->second;
  throw FileError(
      fmt::format("{} has no tensor '{}'; only GPT-2's weights can be written as llm.c's checkpoint", source, name));
}

Gpt2Sizes gpt2_sizes(const TensorsByName& tensors, const std::string& config, const std::string& source) {
  const auto matrix = [&](const char* name) {
    const auto& shape = gpt2_parameter(tensors, name, source).shape;
    if (shape.size() == 2 && std::min(shape[0], shape[1]) > 0) return shape;
    throw FileError(fmt::format("{}: '{}' has shape {}, expected a matrix", source, name, shape_text(shape)));
  };
  Gpt2Sizes sizes;
  sizes.vocabulary = matrix("wte.weight")[0];
  sizes.positions = matrix("wpe.weight")[0];
  sizes.width = matrix("wte.weight")[1];
  sizes.heads = heads_in(config, sizes.width, source);
  sizes.rows = (sizes.vocabulary + kPadding - 1) / kPadding * kPadding;
  while (tensors.contains(fmt::format("h.{}.ln_1.weight", sizes.layers))) ++sizes.layers;
  return sizes;
}

/// Checks that exactly the expected tensors are there, all float32 or all bfloat16.
void check_gpt2(const TensorsByName& tensors, const std::vector<StoredPart>& parts, const std::string& source) {
  const auto type = gpt2_parameter(tensors, "wte.weight", source).type;
  auto left = tensors;
  for (const auto& part : parts) {
    const auto& tensor = gpt2_parameter(tensors, part.name, source);
    if (tensor.shape != part.shape) {
      throw FileError(fmt::format("{}: '{}' has shape {}, GPT-2 of this width has {}", source, part.name,
                                  shape_text(tensor.shape), shape_text(part.shape)));
    }
    if (tensor.type != type || (type != torch::kFloat32 && type != torch::kBFloat16)) {
      throw FileError(fmt::format(
          "{}: '{}' has type {}, but llm.c's checkpoint is all float32 or all bfloat16; convert with --dtype", source,
          part.name, type_name(tensor.type)));
    }
    left.erase(part.name);
  }
  if (left.empty()) return;
  throw FileError(fmt::format("{} has the tensor {}, which does not exist in llm.c's checkpoints", source,
                              in_quotes(left.begin()->first)));
}

void write_part(OutputFile& file, const torch::Tensor& tensor) {
  const auto plain = tensor.contiguous();
  file.write({static_cast<const char*>(plain.data_ptr()), plain.nbytes()});
}

}  // namespace

LazyTensors open_llmc_weights(const std::filesystem::path& path) {
  const auto file = std::make_shared<InputFile>(path);
  const auto header = read_llmc_header(*file);
  LazyTensors weights;
  weights.metadata = {{"format", "pt"}};
  std::uint64_t offset = sizeof(HeaderWords);
  for (const auto& part : in_llmc_order(header.sizes)) {
    LazyTensor tensor{part.name, header.type, part.shape, [file = file, offset, part = part, type = header.type] {
                        return read_part(*file, offset, part, type);
                      }};
    offset += byte_count(tensor);
    if (weights.tensors.empty()) {  // the embedding, which is padded
      offset += static_cast<std::uint64_t>((header.sizes.rows - header.sizes.vocabulary) * header.sizes.width) *
                torch::elementSize(header.type);
    }
    weights.tensors.push_back(std::move(tensor));
  }
  return weights;
}

std::string llmc_model_config(const std::filesystem::path& path) {
  const auto sizes = read_llmc_header(InputFile(path)).sizes;
  return to_text({{"architectures", {"GPT2LMHeadModel"}},
                  {"model_type", "gpt2"},
                  {"n_embd", sizes.width},
                  {"n_head", sizes.heads},
                  {"n_layer", sizes.layers},
                  {"n_positions", sizes.positions},
                  {"vocab_size", sizes.vocabulary}},
                 2) +
         "\n";
}

void write_llmc_weights(const std::filesystem::path& path, const std::vector<LazyTensor>& tensors,
                        const std::string& config, const std::filesystem::path& source) {
  const auto parameters = without_tied_head(plain_parameters(tensors, source));
  TensorsByName by_name;
  for (const auto& tensor : parameters) by_name[tensor.name] = &tensor;
  const auto sizes = gpt2_sizes(by_name, config, source.string());
  const auto parts = in_llmc_order(sizes);
  check_gpt2(by_name, parts, source.string());

  HeaderWords words{};
  const auto type = by_name["wte.weight"]->type;
  const std::array<std::int64_t, 8> values = {kMagic,          type == torch::kFloat32 ? 3 : 5,
                                              sizes.positions, sizes.vocabulary,
                                              sizes.layers,    sizes.heads,
                                              sizes.width,     sizes.rows};
  std::transform(values.begin(), values.end(), words.begin(),
                 [](std::int64_t value) { return static_cast<std::int32_t>(value); });
  publish_file(path, [&](OutputFile& file) {
    file.write({static_cast<const char*>(static_cast<const void*>(words.data())), sizeof(words)});
    for (const auto& part : parts) {
      const auto tensor = by_name[part.name]->read();
      write_part(file, part.transposed ? tensor.t() : tensor);
      if (&part == &parts.front()) {
        write_part(file, torch::zeros({sizes.rows - sizes.vocabulary, sizes.width}, tensor.options()));
      }
    }
  });
}

}  // namespace lehi::train
