#include "train/weights.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/nearest.h"
#include "train/json_file.h"
#include "train/llmc_weights.h"
#include "train/weight_names.h"
#include "train/weight_shards.h"

namespace lehi::train {
namespace {

constexpr std::uint64_t kLargestConfig = 10'000'000;
constexpr std::size_t kLongestSensibleName = 200;

std::filesystem::path weights_in(const std::filesystem::path& folder) {
  std::vector<std::string> indices;
  for (const auto& name : list_directory(folder)) {
    if (name == "model.safetensors") return folder / name;
    if (name.ends_with(kIndexEnding)) indices.push_back(name);
  }
  if (indices.size() == 1) return folder / indices[0];
  throw FileError(fmt::format("the directory {} has no model.safetensors and {} files *{}; name the file to read",
                              folder.string(), indices.size(), kIndexEnding));
}

/// A hint for the message about a missing tensor.
std::string closest_text(const std::string& missing, const std::vector<LazyTensor>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const auto& tensor : tensors) {
    if (tensor.name.size() <= kLongestSensibleName) names.push_back(tensor.name);
  }
  const auto near = base::nearest_name(missing, names);
  return near.empty() ? "no name there is similar" : fmt::format("the closest name there is {}", in_quotes(near));
}

void check_shape(const std::filesystem::path& file, const LazyTensor& tensor, const torch::Tensor& parameter) {
  if (tensor.shape != parameter.sizes().vec()) {
    throw FileError(fmt::format("{}: '{}' has shape {}, the model needs {}", file.string(), tensor.name,
                                shape_text(tensor.shape), shape_text(parameter.sizes().vec())));
  }
  if (!torch::isFloatingType(tensor.type)) {
    throw FileError(fmt::format("{}: '{}' has type {}, expected floating-point numbers", file.string(), tensor.name,
                                type_name(tensor.type)));
  }
}

void copy_values(const std::filesystem::path& file, const LazyTensor& tensor, const torch::Tensor& parameter) {
  const torch::NoGradGuard no_grad;
  const auto values = tensor.read();
  const auto converted = values.to(parameter.scalar_type());
  if (const auto at = first_not_finite(converted); at >= 0) {
    throw FileError(fmt::format("{}: '{}' has {} at {}, expected finite numbers that {} can hold", file.string(),
                                tensor.name, values.view(-1)[at].item<double>(), coordinates_text(at, tensor.shape),
                                type_name(parameter.scalar_type())));
  }
  parameter.copy_(converted);
}

}  // namespace

LazyTensors open_weights(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_weights(weights_in(path));
  const auto name = path.filename().string();
  if (name.ends_with(kIndexEnding)) return open_weight_shards(path);
  if (name.ends_with(".bin")) return open_llmc_weights(path);
  return open_safetensors(path);
}

std::string model_config(const std::filesystem::path& weights) {
  std::error_code ignored;
  if (weights.extension() == ".bin") return llmc_model_config(weights);
  const auto folder = std::filesystem::is_directory(weights, ignored) ? weights : weights.parent_path();
  const auto config = folder / "config.json";
  return std::filesystem::exists(config, ignored) ? read_text(config, kLargestConfig) : "";
}

void load_weights(const std::filesystem::path& file, const torch::OrderedDict<std::string, torch::Tensor>& parameters) {
  auto tensors = plain_parameters(open_weights(file).tensors, file);
  if (!parameters.contains("lm_head.weight")) tensors = without_tied_head(std::move(tensors));
  std::map<std::string, const LazyTensor*> by_name;
  for (const auto& tensor : tensors) by_name[tensor.name] = &tensor;

  for (const auto& parameter : parameters) {
    const auto found = by_name.find(parameter.key());
    if (found == by_name.end()) {
      throw FileError(fmt::format("{} has no tensor '{}', which the model needs; {}", file.string(), parameter.key(),
                                  closest_text(parameter.key(), tensors)));
    }
    check_shape(file, *found->second, parameter.value());
  }
  for (const auto& tensor : tensors) {
    if (parameters.contains(tensor.name)) continue;
    throw FileError(fmt::format("{} has the tensor {}, which the model does not have{}", file.string(),
                                in_quotes(tensor.name),
                                tensor.name == "lm_head.weight" ? ": it differs from the embedding" : ""));
  }
  for (const auto& parameter : parameters) copy_values(file, *by_name[parameter.key()], parameter.value());
}

}  // namespace lehi::train
