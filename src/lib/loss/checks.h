// Input checks that all losses share, and parts of their messages.
#pragma once

#include <torch/types.h>

#include <string>

#include "lehi/loss.h"

namespace lehi {

struct LossInputs {
  torch::Tensor predictions;  ///< detached, contiguous, float32 or float64
  torch::Tensor targets;      ///< detached
};

/// Checks the requirements of all losses (defined, of a floating type, dense, not empty, on one device). Predictions of
/// 16 bits are widened to float32, and with them targets of 16 bits.
LossInputs checked_inputs(const Loss& loss, const torch::Tensor& predictions, const torch::Tensor& targets);

/// A tensor of 16-bit numbers as float32; any other as it is.
torch::Tensor widened(const torch::Tensor& tensor);

/// Throws NonFiniteError with row, output and value of the first NaN or infinity.
void check_finite(const std::string& loss, const torch::Tensor& predictions);

/// Position of an element for messages: "row 3, output 1" by the convention of row_shape(), or "row 3" with one output.
std::string position_of(const torch::Tensor& predictions, std::int64_t flat_index);

/// "[128, 10]"
std::string shape_string(at::IntArrayRef sizes);

}  // namespace lehi
