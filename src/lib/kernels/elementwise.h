// Elementwise losses: value, u and v of every element in one pass, and the plain ATen version that says the same.
//
// The kernel serves contiguous CPU tensors: it computes in float64 whatever the tensors hold, and adds the values of
// fixed chunks in order, so that the sum does not depend on the number of threads. The plain version serves every
// device.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "kernels/elementwise_formulas.h"
#include "lehi/probe.h"

namespace lehi::kernels {

/// Predictions and targets share shape, dtype (float32 or float64) and device, and are contiguous.
struct ElementwiseTask {
  torch::Tensor predictions;
  torch::Tensor targets;
  std::int64_t outputs = 1;  ///< of a row: the last dimension, or 1
  Probe probe = Probe::gradient;
  RandomKey key = {};
};

struct ElementwiseResult {
  double sum = 0.0;
  std::int64_t bad_prediction = -1;  ///< flat index of the first that is not finite, or -1
  std::int64_t bad_target = -1;      ///< of the first that the formula does not accept, or -1
};

/// Writes u into `gradient` and, unless the probe is `gradient`, v into `probe`; both have the predictions' shape. When
/// something is bad, the rest of the result means nothing.
ElementwiseResult elementwise(const ElementwiseFormula& formula, const ElementwiseTask& task,
                              const torch::Tensor& gradient, const torch::Tensor& probe);
ElementwiseResult elementwise_plain(const ElementwiseFormula& formula, const ElementwiseTask& task,
                                    const torch::Tensor& gradient, const torch::Tensor& probe);

/// l'' of every element; contiguous CPU tensors.
torch::Tensor elementwise_second(const ElementwiseFormula& formula, const torch::Tensor& predictions,
                                 const torch::Tensor& targets);

}  // namespace lehi::kernels
