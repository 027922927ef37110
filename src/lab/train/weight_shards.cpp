#include "train/weight_shards.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "train/json_file.h"

namespace lehi::train {
namespace {

constexpr std::uint64_t kLargestIndex = 100'000'000;

/// Rejects paths: a downloaded index must not make the program read files outside its directory.
void check_shard_name(const std::string& name, const std::string& where) {
  if (name.ends_with(".safetensors") && name.find('/') == std::string::npos && name.find('\0') == std::string::npos) {
    return;
  }
  throw FileError(
      fmt::format("{}: {} must be the name of a .safetensors file in the same directory", where, in_quotes(name)));
}

/// The tensors of each file, with false: not yet found in it.
std::map<std::string, std::map<std::string, bool>> read_weight_map(const std::filesystem::path& index) {
  const auto where = index.string();
  const auto document = parse_json(read_text(index, kLargestIndex), where, {.depth = 8});
  const auto& weight_map = object_field(document, "weight_map", where);
  std::map<std::string, std::map<std::string, bool>> files;
  for (const auto& [tensor, file] : weight_map.items()) {
    const auto name = text_field(weight_map, tensor.c_str(), where);
    check_shard_name(name, where);
    files[name][tensor] = false;
  }
  return files;
}

void write_one(const std::filesystem::path& path, const std::vector<LazyTensor>& tensors, const Metadata& metadata) {
  OutputFile file(path, OutputFile::Mode::create);
  write_safetensors(file, tensors, metadata);
  file.close();
}

/// Consecutive tensors, as many per file as fit.
std::vector<std::vector<LazyTensor>> split(const std::vector<LazyTensor>& tensors, std::uint64_t largest) {
  std::vector<std::vector<LazyTensor>> parts(1);
  std::uint64_t bytes = 0;
  for (const auto& tensor : tensors) {
    const auto more = byte_count(tensor);
    if (!parts.back().empty() && (bytes > largest || more > largest - bytes)) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().push_back(tensor);
    bytes += more;
  }
  return parts;
}

}  // namespace

LazyTensors open_weight_shards(const std::filesystem::path& index) {
  LazyTensors weights;
  for (auto& [name, expected] : read_weight_map(index)) {
    auto shard = open_safetensors(index.parent_path() / name);
    for (auto& tensor : shard.tensors) {
      const auto found = expected.find(tensor.name);
      if (found == expected.end()) {
        throw FileError(fmt::format("{} has the tensor {}, but {} does not list it there; get all files again",
                                    (index.parent_path() / name).string(), in_quotes(tensor.name), index.string()));
      }
      found->second = true;
      weights.tensors.push_back(std::move(tensor));
    }
    for (const auto& [tensor, present] : expected) {
      if (present) continue;
      throw FileError(fmt::format("{} has no tensor {}, but {} lists it there; get all files again",
                                  (index.parent_path() / name).string(), in_quotes(tensor), index.string()));
    }
    weights.metadata.merge(shard.metadata);
  }
  return weights;
}

std::vector<std::string> write_weight_shards(const std::filesystem::path& folder, const LazyTensors& weights,
                                             std::uint64_t largest) {
  const auto parts = split(weights.tensors, largest);
  if (parts.size() == 1) {
    write_one(folder / "model.safetensors", parts[0], weights.metadata);
    return {"model.safetensors"};
  }
  std::vector<std::string> names;
  names.reserve(parts.size() + 1);
  nlohmann::json weight_map = nlohmann::json::object();
  std::uint64_t bytes = 0;
  for (const auto& part : parts) {
    names.push_back(fmt::format("model-{:05}-of-{:05}.safetensors", names.size() + 1, parts.size()));
    write_one(folder / names.back(), part, weights.metadata);
    for (const auto& tensor : part) {
      weight_map[tensor.name] = names.back();
      bytes += byte_count(tensor);
    }
  }
  names.push_back(fmt::format("model{}", kIndexEnding));
  const nlohmann::json document = {{"metadata", {{"total_size", bytes}}}, {"weight_map", weight_map}};
  publish_text(folder / names.back(), to_text(document, 2) + "\n");
  return names;
}

}  // namespace lehi::train
