// Elementwise losses: kernels/elementwise.h for tensors, and the same in ATen operations.
#pragma once

#include <torch/types.h>

#include "kernels/elementwise.h"

namespace lehi::ops {

/// Predictions and targets share shape, dtype (float32 or float64) and device, and are contiguous.
struct ElementwiseTask {
  torch::Tensor predictions;
  torch::Tensor targets;
  std::int64_t outputs = 1;  ///< of a row: the last dimension, or 1
  Probe probe = Probe::gradient;
  RandomKey key = {};
};

/// The kernel for CPU tensors. Writes u into `gradient` and, unless the probe is `gradient`, v into `probe`; both have
/// the predictions' shape.
kernels::ElementwiseResult elementwise(const kernels::ElementwiseFormula& formula, const ElementwiseTask& task,
                                       const torch::Tensor& gradient, const torch::Tensor& probe);

/// The same for tensors on any device.
kernels::ElementwiseResult elementwise_plain(const kernels::ElementwiseFormula& formula, const ElementwiseTask& task,
                                             const torch::Tensor& gradient, const torch::Tensor& probe);

/// l'' of every element; contiguous CPU tensors.
torch::Tensor elementwise_second(const kernels::ElementwiseFormula& formula, const torch::Tensor& predictions,
                                 const torch::Tensor& targets);

}  // namespace lehi::ops
