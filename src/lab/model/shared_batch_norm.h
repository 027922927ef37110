// Batch normalisation over the rows of all ranks, so that several processes normalise as one with all rows would.
#pragma once

#include <torch/types.h>

#include "lehi/ranks.h"

namespace lehi::model {

/// As torch::batch_norm in training: values [rows, channels, height, width], where this rank's rows may be none. The
/// running tensors are updated unless they are undefined. Autograd differentiates it; every rank must then pull back
/// the same number of times.
torch::Tensor shared_batch_norm(const torch::Tensor& values, const torch::Tensor& scale, const torch::Tensor& shift,
                                const torch::Tensor& running_mean, const torch::Tensor& running_variance,
                                double momentum, double eps, Ranks& ranks);

}  // namespace lehi::model
