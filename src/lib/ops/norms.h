// Size of a gradient: kernels/norms.h for tensors.
#pragma once

#include <torch/types.h>

#include "kernels/norms.h"

namespace lehi::ops {

/// Of any dense tensor. What the kernel does not take (not contiguous, not on the CPU, neither float32 nor float64) is
/// copied first.
kernels::Norms norms(const torch::Tensor& tensor);

/// True when the tensor has no NaN and no entry beyond `limit`, which must be finite. Cheaper than norms().
bool is_within(const torch::Tensor& tensor, double limit);

/// True when the tensor has no NaN and no infinity.
bool is_finite(const torch::Tensor& tensor);

}  // namespace lehi::ops
