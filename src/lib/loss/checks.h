// Input checks that all losses share, and parts of their messages.
#pragma once

#include <torch/types.h>

#include <string>

#include "lehi/loss.h"

namespace lehi {

/// Checks the requirements of all losses (defined, float32 or float64, dense, not empty, on one device). Returns the
/// predictions, detached and contiguous.
torch::Tensor checked_predictions(const Loss& loss, const torch::Tensor& predictions, const torch::Tensor& targets);

/// Throws NonFiniteError with row, output and value of the first NaN or infinity.
void check_finite(const std::string& loss, const torch::Tensor& predictions);

/// Position of an element for messages: "row 3, output 1" by the convention of row_shape(), or "row 3" with one output.
std::string position_of(const torch::Tensor& predictions, std::int64_t flat_index);

/// "[128, 10]"
std::string shape_string(at::IntArrayRef sizes);

}  // namespace lehi
