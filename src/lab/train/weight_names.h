// Tensor names in files of Hugging Face's language models that differ from the parameters' names: the prefix of a model
// with a head, buffers that are not parameters, and the head that is tied to the embedding.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/safetensors.h"

namespace lehi::train {

/// Whether a tensor is a mask or frequency table that old versions saved with the weights.
bool is_known_buffer(const std::string& name);

/// The tensors that are parameters, without the prefix "transformer.". FileError, naming `file`, if two then have the
/// same name.
std::vector<LazyTensor> plain_parameters(const std::vector<LazyTensor>& tensors, const std::filesystem::path& file);

/// Without lm_head.weight, if it has the same bytes as the embedding.
std::vector<LazyTensor> without_tied_head(std::vector<LazyTensor> tensors);

/// The same tensors with floating-point parameters converted to another type. Reading throws FileError, naming `file`,
/// for a finite number that the type can't represent.
std::vector<LazyTensor> in_type(std::vector<LazyTensor> tensors, torch::ScalarType type,
                                const std::filesystem::path& file);

/// "[3, 4]"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// The index of the first NaN or infinity, or -1. With `before`, of the first one that is finite there.
std::int64_t first_not_finite(const torch::Tensor& values, const torch::Tensor& before = {});

/// The coordinates of an element: "[1, 2]".
std::string coordinates_text(std::int64_t index, const std::vector<std::int64_t>& shape);

}  // namespace lehi::train
