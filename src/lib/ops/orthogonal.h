// The orthogonal shape: the nearest matrix with orthonormal rows or columns, approximately.
#pragma once

#include <torch/types.h>

namespace lehi::ops {

/// U V^T of a matrix with singular values U S V^T, by five steps of the Newton-Schulz iteration of Jordan et al.
/// (2024),
///   X <- a X + (b A + c A A) X with A = X X^T and (a, b, c) = (3.4445, -4.775, 2.0315),
/// from X = matrix / its Frobenius norm. Singular values of at least 0.0015 of that norm end between 0.67 and 1.21;
/// smaller ones grow by at most a^5 = 485 times, and end below 0.69. Zero for a zero matrix.
torch::Tensor orthogonal(const torch::Tensor& matrix);

}  // namespace lehi::ops
