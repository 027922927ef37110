// What the tensors of Hugging Face's language models are called, beyond the parameters' own names: the prefix that a
// model with a head puts before them, buffers that every model computes anew, and the head where it is the embedding.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/safetensors.h"

namespace lehi::train {

/// Masks and frequencies that old versions saved beside the weights.
bool is_known_buffer(const std::string& name);

/// The tensors that are parameters, without the prefix "transformer."; FileError, naming `file`, where two then have
/// one name.
std::vector<LazyTensor> plain_parameters(const std::vector<LazyTensor>& tensors, const std::filesystem::path& file);

/// Leaves lm_head.weight out where it has the very bytes of the embedding.
std::vector<LazyTensor> without_tied_head(std::vector<LazyTensor> tensors);

/// The same tensors with floating-point parameters in another type. Reading throws FileError, naming `file`, for a
/// finite number that the type can't hold.
std::vector<LazyTensor> in_type(std::vector<LazyTensor> tensors, torch::ScalarType type,
                                const std::filesystem::path& file);

/// "[3, 4]"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// The index of the first NaN or infinity, or -1; only of those that were finite `before`, where that is given.
std::int64_t first_not_finite(const torch::Tensor& values, const torch::Tensor& before = {});

/// Where an element is, by its index: "[1, 2]".
std::string place_text(std::int64_t index, const std::vector<std::int64_t>& shape);

}  // namespace lehi::train
