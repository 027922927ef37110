// Activations and their derivatives, the slopes. A model keeps the inputs of an activation, not its values; the
// backward pass computes values and slopes from them, and each cotangent then costs one multiplication.
#pragma once

#include <torch/types.h>

namespace lehi::layers {

/// y = x s(2 u) with u = sqrt(2/pi) (x + 0.044715 x^3) and the logistic function s: torch::gelu(x, "tanh") without the
/// tanh.
torch::Tensor gelu(const torch::Tensor& x);
/// The same values; overwrites x with dy/dx.
torch::Tensor gelu_and_slope(torch::Tensor& x);

/// Llama's gated unit: silu(gate) up.
torch::Tensor gated_silu(const torch::Tensor& gate, const torch::Tensor& up);
/// The same values; overwrites gate with dy/dgate, and up with dy/dup = silu(gate).
torch::Tensor gated_silu_and_slopes(torch::Tensor& gate, torch::Tensor& up);

/// cotangents *= slope, for `count` cotangents stacked by rows: [count * rows, width] and [rows, width].
void multiply_by_slope(torch::Tensor& cotangents, const torch::Tensor& slope);

/// The same in a new tensor.
torch::Tensor times_slope(const torch::Tensor& cotangents, const torch::Tensor& slope);

}  // namespace lehi::layers
