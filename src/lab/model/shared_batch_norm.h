// Batch normalisation over the rows of all ranks, with the result that one process with all rows would get.
#pragma once

#include <torch/types.h>

#include "lehi/ranks.h"

namespace lehi::model {

/// As torch::batch_norm in training, of values [rows, channels, height, width]; this rank may have no rows. Updates the
/// running tensors unless they are undefined. Autograd differentiates it; its backward pass sums over the ranks, so
/// every rank must run it the same number of times.
torch::Tensor shared_batch_norm(const torch::Tensor& values, const torch::Tensor& scale, const torch::Tensor& shift,
                                const torch::Tensor& running_mean, const torch::Tensor& running_variance,
                                double momentum, double eps, Ranks& ranks);

}  // namespace lehi::model
