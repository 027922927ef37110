// The orthogonal shape: the nearest matrix with orthonormal rows or columns, approximately.
#pragma once

#include <torch/types.h>

namespace lehi::ops {

/// U V^T of a matrix with singular values U S V^T, by five steps of the Newton-Schulz iteration of Jordan et al.
/// (2024),
///   X <- a X + (b A + c A A) X with A = X X^T and (a, b, c) = (3.4445, -4.775, 2.0315),
/// which leaves the singular values between about 0.7 and 1.2. Zero for a zero matrix.
torch::Tensor orthogonal(const torch::Tensor& matrix);

}  // namespace lehi::ops
