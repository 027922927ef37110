// How far two lists of tensors are apart.
#pragma once

#include <torch/types.h>

#include <vector>

namespace lehi::bench {

using Tensors = std::vector<torch::Tensor>;

/// The largest |a - b| / |b| of all pairs, 2-norms in float64. A norm |b| counts as at least a thousandth of the
/// largest one, so that a tensor that is all rounding does not decide. NaN where one of them has a NaN.
double largest_difference(const Tensors& a, const Tensors& b);

}  // namespace lehi::bench
