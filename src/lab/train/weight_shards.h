// Weights over several files, as Hugging Face's tools store large models: NAME-00001-of-00002.safetensors and so on,
// and NAME.safetensors.index.json, which says in which of them each tensor is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "train/safetensors.h"

namespace lehi::train {

inline constexpr std::string_view kIndexEnding = ".safetensors.index.json";

/// The tensors of all files that an index names. Files and index must agree on every tensor, and the files must be in
/// the folder of the index; FileError otherwise.
LazyTensors open_weight_shards(const std::filesystem::path& index);

/// Writes model.safetensors into a folder or, where the tensors have more than `largest` bytes, as many files as are
/// needed and an index. No file has more, unless one tensor alone does. Returns the files' names.
std::vector<std::string> write_weight_shards(const std::filesystem::path& folder, const LazyTensors& weights,
                                             std::uint64_t largest);

}  // namespace lehi::train
