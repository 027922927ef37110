// The relative difference of two lists of tensors.
#pragma once

#include <torch/types.h>

#include <vector>

namespace lehi::bench {

using Tensors = std::vector<torch::Tensor>;

/// The largest |a - b| / |b| over all pairs, with 2-norms in float64. |b| is replaced by a thousandth of the largest
/// norm if it is smaller, so that tensors of rounding errors do not count. NaN if a tensor contains NaN or the lists
/// differ in length.
double largest_difference(const Tensors& a, const Tensors& b);

}  // namespace lehi::bench
