// Weights in several files, as Hugging Face's tools store large models: NAME-00001-of-00002.safetensors and so on, and
// NAME.safetensors.index.json with the file of each tensor.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/safetensors.h"

namespace lehi::train {

inline constexpr std::string_view kIndexEnding = ".safetensors.index.json";

/// The tensors of all files of an index. FileError if files and index differ in any tensor, or if a file is not in the
/// directory of the index.
LazyTensors open_weight_shards(const std::filesystem::path& index);

/// Writes model.safetensors or, if the tensors have more than `largest` bytes, several files and an index. No file has
/// more than `largest` bytes of tensors, unless a single tensor does. Returns the files' names.
std::vector<std::string> write_weight_shards(const std::filesystem::path& folder, const LazyTensors& weights,
                                             std::uint64_t largest);

}  // namespace lehi::train
