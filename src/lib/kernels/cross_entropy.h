// Softmax cross-entropy (the formulas are in lehi/cross_entropy.h): value, u and v of every row in one pass, and the
// plain ATen version that says the same.
//
// Both compute in float64 whatever the tensors hold, and refer the exponentials to the second largest logit. With m >=
// p2 the two largest logits, f_i = exp(p_i - p2), g = exp(p2 - m), B = sum of f without the largest class, Z = 1 + g B:
//
//   s_top = 1/Z, 1 - s_top = g B / Z, s_i = g f_i / Z, 1 - s_i = (Z - g f_i) / Z       no subtraction loses digits
//
// and every probe but sampled-label has the common factor sqrt(g) = exp((p2 - m) / 2), which underflows only beyond
// a gap of 1490. The imitation probe is v_i = sum_k T_ik with T_ik = s_i s_k (s_k - s_i)(1 - s_i - s_k) /
// (sqrt(q_i q_k) (sqrt(q_i) + sqrt(q_k))) = -T_ki, q = s (1 - s): class by class for the two largest, and through two
// sums for the others, F = sum f_k and D = sum d_k with d_i = sqrt(f_i/(Z - g f_i)) - t f_i. Any t gives the same
// result; the one that makes d of the third largest class 0 makes v exactly 0 at equal logits.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "lehi/probe.h"

namespace lehi::kernels {

/// All tensors are contiguous, targets checked by the caller.
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

struct CrossEntropyResult {
  double sum = 0.0;
  double count = 0.0;
  bool finite = true;  ///< false when a logit is NaN or infinite: the rest then means nothing
};

/// Writes u into `gradient` and, unless the probe is `gradient`, v into `probe`; both have the logits' shape and dtype.
CrossEntropyResult cross_entropy(const CrossEntropyTask& task, const torch::Tensor& gradient,
                                 const torch::Tensor& probe);  // CPU only
CrossEntropyResult cross_entropy_plain(const CrossEntropyTask& task, const torch::Tensor& gradient,
                                       const torch::Tensor& probe);

/// a_i = w_i y_i of every row, smoothing and class weights included, float64 [rows, classes]; ignored rows are 0.
torch::Tensor weighted_targets(const CrossEntropyTask& task);

}  // namespace lehi::kernels
