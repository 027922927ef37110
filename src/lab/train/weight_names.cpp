#include "train/weight_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>

#include "train/json_file.h"

namespace lehi::train {
namespace {

constexpr std::string_view kPrefixOfHeads = "transformer.";
constexpr std::string_view kHead = "lm_head.weight";
constexpr std::array<std::string_view, 3> kEmbeddings = {"wte.weight", "transformer.wte.weight",
                                                         "model.embed_tokens.weight"};
constexpr std::array<std::string_view, 3> kBufferEndings = {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"};

bool same_bytes(const LazyTensor& a, const LazyTensor& b) {
  if (a.type != b.type || a.shape != b.shape) return false;
  const auto left = a.read().contiguous();
  const auto right = b.read().contiguous();
  return std::memcmp(left.data_ptr(), right.data_ptr(), left.nbytes()) == 0;
}

}  // namespace

bool is_known_buffer(const std::string& name) {
  return std::any_of(kBufferEndings.begin(), kBufferEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

std::vector<LazyTensor> plain_parameters(const std::vector<LazyTensor>& tensors, const std::filesystem::path& file) {
  std::vector<LazyTensor> parameters;
  parameters.reserve(tensors.size());
  std::set<std::string> names;
  for (auto tensor : tensors) {
    if (is_known_buffer(tensor.name)) continue;
    if (tensor.name.starts_with(kPrefixOfHeads)) tensor.name.erase(0, kPrefixOfHeads.size());
    if (!names.insert(tensor.name).second) {
      throw FileError(fmt::format("{} has the tensor {} twice, with the prefix '{}' and without; remove one",
                                  file.string(), in_quotes(tensor.name), kPrefixOfHeads));
    }
    parameters.push_back(std::move(tensor));
  }
  return parameters;
}

std::vector<LazyTensor> without_tied_head(std::vector<LazyTensor> tensors) {
  const auto head =
      std::find_if(tensors.begin(), tensors.end(), [](const LazyTensor& tensor) { return tensor.name == kHead; });
  const auto embedding = std::find_if(tensors.begin(), tensors.end(), [](const LazyTensor& tensor) {
    return std::find(kEmbeddings.begin(), kEmbeddings.end(), tensor.name) != kEmbeddings.end();
  });
  if (head != tensors.end() && embedding != tensors.end() && same_bytes(*head, *embedding)) tensors.erase(head);
  return tensors;
}

std::vector<LazyTensor> in_type(std::vector<LazyTensor> tensors, torch::ScalarType type,
                                const std::filesystem::path& file) {
  for (auto& tensor : tensors) {
    if (tensor.type == type || !torch::isFloatingType(tensor.type) || is_known_buffer(tensor.name)) continue;
    tensor.read = [original = tensor, type, file] {
      const auto before = original.read();
      auto after = before.to(type);
      if (const auto at = first_not_finite(after, before); at >= 0) {
        throw FileError(
            fmt::format("{}: tensor {} has {} at {}, which {} can't hold; convert to a type with a wider range",
                        file.string(), in_quotes(original.name), before.view(-1)[at].item<double>(),
                        coordinates_text(at, original.shape), type_name(type)));
      }
      return after;
    };
    tensor.type = type;
  }
  return tensors;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::int64_t first_not_finite(const torch::Tensor& values, const torch::Tensor& before) {
  // In pieces: temporaries of the whole tensor's size would double the memory.
  constexpr std::int64_t kPiece = 1 << 20;
  const auto flat = values.reshape(-1);
  for (std::int64_t begin = 0; begin < flat.numel(); begin += kPiece) {
    auto bad = torch::isfinite(flat.slice(0, begin, begin + kPiece)).logical_not();
    if (!bad.any().item<bool>()) continue;
    if (before.defined()) bad.logical_and_(torch::isfinite(before.reshape(-1).slice(0, begin, begin + kPiece)));
    if (bad.any().item<bool>()) return begin + bad.to(torch::kUInt8).argmax().item<std::int64_t>();
  }
  return -1;
}

std::string coordinates_text(std::int64_t index, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; index /= shape[axis]) place[axis] = index % shape[axis];
  return shape_text(place);
}

}  // namespace lehi::train
