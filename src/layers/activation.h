// Activations that leave behind what their pull-back needs: the slope, so that any number of cotangents costs one
// multiplication each and no transcendental function.
#pragma once

#include <torch/types.h>

namespace lehi::layers {

/// y = x s(2 u) with u = sqrt(2/pi) (x + 0.044715 x^3) and the logistic function s: torch::gelu(x, "tanh") without the
/// tanh. Returns y, and writes dy/dx over x.
torch::Tensor gelu_and_slope(torch::Tensor& x);

/// What the gated unit of Llama, y = silu(gate) up, leaves behind.
struct Gated {
  torch::Tensor values;
  torch::Tensor gate_slope;  ///< dy/dgate
  torch::Tensor up_slope;    ///< dy/dup = silu(gate)
};
/// Takes over `gate` and `up` as room for the slopes.
Gated gated_silu(torch::Tensor gate, torch::Tensor up);

/// cotangents *= slope, for `count` cotangents one after the other: [count * rows, width] and [rows, width].
void multiply_by_slope(torch::Tensor& cotangents, const torch::Tensor& slope);

/// out = cotangents * slope, the same.
torch::Tensor times_slope(const torch::Tensor& cotangents, const torch::Tensor& slope);

}  // namespace lehi::layers
