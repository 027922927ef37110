// What every loss checks of its inputs, with the sentences a user sees.
#pragma once

#include <torch/types.h>

#include <string>

#include "lehi/loss.h"

namespace lehi {

/// Checks what is true for all losses (defined, float32 or float64, dense, not empty, one device) and returns the
/// predictions detached and contiguous.
torch::Tensor checked_predictions(const Loss& loss, const torch::Tensor& predictions, const torch::Tensor& targets);

/// Throws NonFiniteError naming row, output and value of the first NaN or infinity.
void check_finite(const std::string& loss, const torch::Tensor& predictions);

/// Where an element is, for messages: "row 3, output 1" by the convention of row_shape(), or "row 3" with one output.
std::string position_of(const torch::Tensor& predictions, std::int64_t flat_index);

/// "[128, 10]"
std::string text_of(at::IntArrayRef sizes);

}  // namespace lehi
