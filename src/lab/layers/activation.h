// Activations, and the same again with their slopes when the pull-back comes: their inputs are kept, not their values,
// and any number of cotangents costs one multiplication each.
#pragma once

#include <torch/types.h>

namespace lehi::layers {

/// y = x s(2 u) with u = sqrt(2/pi) (x + 0.044715 x^3) and the logistic function s: torch::gelu(x, "tanh") without the
/// tanh.
torch::Tensor gelu(const torch::Tensor& x);
/// The same, and dy/dx over x.
torch::Tensor gelu_and_slope(torch::Tensor& x);

/// The gated unit of Llama: silu(gate) up.
torch::Tensor gated_silu(const torch::Tensor& gate, const torch::Tensor& up);
/// The same; over gate its slope dy/dgate, and over up dy/dup = silu(gate).
torch::Tensor gated_silu_and_slopes(torch::Tensor& gate, torch::Tensor& up);

/// cotangents *= slope, for `count` cotangents one after the other: [count * rows, width] and [rows, width].
void multiply_by_slope(torch::Tensor& cotangents, const torch::Tensor& slope);

/// out = cotangents * slope, the same.
torch::Tensor times_slope(const torch::Tensor& cotangents, const torch::Tensor& slope);

}  // namespace lehi::layers
