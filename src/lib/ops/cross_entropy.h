// Softmax cross-entropy: kernels/cross_entropy.h for tensors, and the same in ATen operations.
#pragma once

#include <torch/types.h>

#include "kernels/cross_entropy.h"

namespace lehi::ops {

/// All tensors are contiguous; the caller has checked the targets.
struct CrossEntropyTask {
  torch::Tensor logits;         ///< [rows, classes], float32 or float64, on any device
  torch::Tensor targets;        ///< [rows] int64, or [rows, classes] of the logits' dtype
  torch::Tensor class_weights;  ///< [classes] float64 on the logits' device, or undefined: all 1
  double label_smoothing = 0.0;
  std::int64_t ignore_index = -100;
  Probe probe = Probe::gradient;
  Scale scale = Scale::sqrt_n;
  RandomKey key = {};

  bool has_indices() const { return targets.dim() == 1; }
};

/// The kernel for CPU tensors. Writes u into `gradient` and, unless the probe is `gradient`, v into `probe`; both have
/// the logits' shape and dtype.
kernels::CrossEntropyResult cross_entropy(const CrossEntropyTask& task, const torch::Tensor& gradient,
                                          const torch::Tensor& probe);

/// The same for tensors on any device.
kernels::CrossEntropyResult cross_entropy_plain(const CrossEntropyTask& task, const torch::Tensor& gradient,
                                                const torch::Tensor& probe);

/// a_i = w_i y_i of every row, smoothing and class weights included, float64 [rows, classes]; ignored rows are 0.
torch::Tensor weighted_targets(const CrossEntropyTask& task);

}  // namespace lehi::ops
