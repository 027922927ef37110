#include "cli/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/duration.h"
#include "base/signals.h"
#include "cli/arguments.h"
#include "runtime/names.h"
#include "train/llmc_weights.h"
#include "train/weight_names.h"
#include "train/weight_shards.h"
#include "train/weights.h"

namespace lehi::cli {
namespace {

namespace fs = std::filesystem;
using train::LazyTensor;
using train::LazyTensors;

enum class WeightsFormat : std::uint8_t { safetensors, llmc, directory };

const NameTable<torch::ScalarType>& weight_types() {
  static const NameTable<torch::ScalarType> names{
      {torch::kFloat32, "float32"}, {torch::kBFloat16, "bfloat16"}, {torch::kFloat16, "float16"}};
  return names;
}

/// Thrown between two tensors when a signal arrived, so that unfinished files are removed.
struct Stopped {
  int signal = 0;
};

/// Prints the progress every five seconds.
class ConvertProgress {
 public:
  ConvertProgress(std::ostream& err, std::uint64_t total) : err_(err), total_(total) {}

  void add(std::uint64_t bytes) {
    if (const int signal = signals_.received(); signal != 0) throw Stopped{signal};
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    // done_ does not include `bytes` yet: they are read, but not written.
    if (done_ > 0 && elapsed.count() > printed_at_ + 5.0) {
      printed_at_ = elapsed.count();
      const double left = elapsed.count() * (static_cast<double>(total_) / static_cast<double>(done_) - 1.0);
      err_ << fmt::format("lehi: {:.1f} of {:.1f} GB, about {} left\n", static_cast<double>(done_) / 1e9,
                          static_cast<double>(total_) / 1e9, base::duration_text(left));
    }
    done_ += bytes;
  }

 private:
  std::ostream& err_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  double printed_at_ = 0.0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  base::SignalWatch signals_;
};

std::uint64_t total_bytes(const std::vector<LazyTensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const auto& tensor : tensors) bytes += train::byte_count(tensor);
  return bytes;
}

// The same tensors, which report progress when they are read.
std::vector<LazyTensor> with_progress(std::vector<LazyTensor> tensors, std::ostream& err) {
  const auto progress = std::make_shared<ConvertProgress>(err, total_bytes(tensors));
  for (auto& tensor : tensors) {
    tensor.read = [read = tensor.read, bytes = train::byte_count(tensor), progress] {
      auto values = read();
      progress->add(bytes);
      return values;
    };
  }
  return tensors;
}

LazyTensors open_input(const ConvertConfig& config) {
  auto weights = train::open_weights(config.in);
  weights.tensors = train::without_tied_head(std::move(weights.tensors));
  if (config.dtype) weights.tensors = train::in_type(std::move(weights.tensors), *config.dtype, config.in);
  weights.metadata.try_emplace("format", "pt");  // required by Hugging Face's tools
  return weights;
}

WeightsFormat format_of(const std::string& out) {
  std::error_code ignored;
  if (out.ends_with('/') || fs::is_directory(out, ignored)) return WeightsFormat::directory;
  if (out.ends_with(".safetensors")) return WeightsFormat::safetensors;
  if (out.ends_with(".bin")) return WeightsFormat::llmc;
  throw UsageError(
      fmt::format("OUT is '{}'; expected a name that ends in .safetensors, in .bin or, for a directory, in /", out));
}

/// Replacing a directory removes its files, so it may only hold files that this command writes.
void check_directory(const fs::path& directory, bool force) {
  for (const auto& name : list_directory(directory)) {
    if (!force) {
      throw InputError(fmt::format(
          "the directory {} exists and is not empty; choose another or add --force to replace it", directory.string()));
    }
    if (name == "config.json" || name.ends_with(".safetensors") || name.ends_with(train::kIndexEnding)) continue;
    throw InputError(fmt::format("the directory {} holds {}, which --force would remove; choose another directory",
                                 directory.string(), name));
  }
}

void check_file_is_new(const fs::path& file, bool force) {
  std::error_code ignored;
  if (force || !fs::exists(fs::symlink_status(file, ignored))) return;
  throw InputError(fmt::format("{} exists; choose another file or add --force to replace it", file.string()));
}

/// Throws when the config.json beside `file` differs: it may belong to another model.
void check_config(const fs::path& file, const std::string& config) {
  const auto present = train::model_config(file);
  if (config.empty() || present.empty() || present == config) return;
  throw InputError(fmt::format("the config.json beside {} describes another model; choose a file in another directory",
                               file.string()));
}

std::vector<std::string> write_directory(const ConvertConfig& config, const LazyTensors& weights) {
  const auto directory = fs::path(config.out + "/").parent_path();  // without the slash at its end
  const auto model = train::model_config(config.in);
  check_directory(directory, config.force);
  if (directory.has_parent_path()) make_directories(directory.parent_path());
  remove_leftovers_of(directory);
  std::vector<std::string> files;
  publish_directory(directory, [&](const fs::path& aside) {
    files = train::write_weight_shards(aside, weights, config.shard_size);
    if (model.empty()) return;
    publish_text(aside / "config.json", model);
    files.emplace_back("config.json");
  });
  for (auto& file : files) file = (directory / file).string();
  return files;
}

std::vector<std::string> write_file(const ConvertConfig& config, const LazyTensors& weights, WeightsFormat format) {
  const fs::path file = config.out;
  const auto model = train::model_config(config.in);
  check_file_is_new(file, config.force);
  const auto model_file = file.parent_path() / "config.json";
  if (file.has_parent_path()) make_directories(file.parent_path());
  remove_leftovers_of(file);
  if (format == WeightsFormat::llmc) {
    train::write_llmc_weights(file, weights.tensors, model, config.in);
    return {config.out};
  }
  check_config(file, model);
  publish_file(file, [&](OutputFile& output) { train::write_safetensors(output, weights.tensors, weights.metadata); });
  if (model.empty()) return {config.out};
  publish_text(model_file, model);
  return {config.out, model_file.string()};
}

}  // namespace

ConvertConfig parse_convert(const Arguments& arguments) {
  ConvertConfig config;
  std::string dtype = "keep";
  CLI::App app("Convert a model's weights between Hugging Face's files and llm.c's GPT-2 checkpoints.", "lehi convert");
  app.add_option("IN", config.in,
                 "a .safetensors file, a .safetensors.index.json file, a directory that holds one of them, or llm.c's "
                 ".bin file")
      ->required();
  app.add_option("OUT", config.out, "NAME.safetensors, NAME.bin for llm.c (GPT-2 only), or NAME/ for a directory")
      ->required();
  app.add_option("--dtype", dtype, "type of the parameters: keep, float32, bfloat16 or float16")
      ->type_name("TYPE")
      ->capture_default_str()
      ->check(CLI::IsMember({"keep", "float32", "bfloat16", "float16"}));
  app.add_option("--shard-size", config.shard_size, "largest file in a directory, for example 500MB or 2GB")
      ->type_name("SIZE")
      ->default_str("5GB")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::PositiveNumber);
  app.add_flag("--force", config.force, "replace OUT if it exists");
  app.add_flag("--json", config.json, "print one JSON document: tensors, parameters, bytes, files");
  app.footer(
      "Examples:\n"
      "  lehi convert gpt2_124M.bin gpt2/    # from llm.c; also writes config.json\n"
      "  lehi convert gpt2/ gpt2_124M.bin    # and back: the same bytes\n"
      "  lehi convert runs/a/checkpoints/step-000001000 small.safetensors --dtype bfloat16\n"
      "  lehi convert llama.safetensors llama/ --shard-size 2GB\n"
      "\n"
      "Only one tensor is in memory at a time. An output head tied to the embedding is stored once.");
  parse_arguments(app, arguments);
  if (dtype != "keep") config.dtype = value_in(weight_types(), dtype, "type");
  return config;
}

int run_convert(const ConvertConfig& config, std::ostream& out, std::ostream& err) {
  const auto format = format_of(config.out);
  auto weights = open_input(config);
  std::int64_t parameters = 0;
  for (const auto& tensor : weights.tensors) {
    if (!train::is_known_buffer(tensor.name)) parameters += train::element_count(tensor);
  }
  const auto bytes = total_bytes(weights.tensors);
  std::vector<std::string> files;
  try {
    weights.tensors = with_progress(std::move(weights.tensors), err);
    files = format == WeightsFormat::directory ? write_directory(config, weights) : write_file(config, weights, format);
  } catch (const Stopped& stopped) {
    err << fmt::format("lehi: stopped by signal {}; nothing was written\n", stopped.signal);
    return 128 + stopped.signal;
  }
  if (config.json) {
    const nlohmann::ordered_json document{{"schema", 1},
                                          {"tensors", weights.tensors.size()},
                                          {"parameters", parameters},
                                          {"bytes", bytes},
                                          {"files", files}};
    out << document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  } else {
    out << fmt::format("{} parameters in {} tensors, {} bytes\n", parameters, weights.tensors.size(), bytes);
    for (const auto& file : files) out << file << '\n';
  }
  return done;
}

}  // namespace lehi::cli
