// Softmax cross-entropy (the formulas are in lehi/cross_entropy.h): value, u and v of every row in one pass.
//
// The kernel and its plain ATen version (ops/cross_entropy_plain.cpp) compute in float64 whatever the arrays hold, and
// take exponentials relative to the second largest logit. With m >= p2 the two largest logits, f_i = exp(p_i - p2),
// g = exp(p2 - m), B = sum of f without the largest class, Z = 1 + g B:
//
//   s_top = 1/Z, 1 - s_top = g B / Z, s_i = g f_i / Z, 1 - s_i = (Z - g f_i) / Z      without cancellation
//
// Every probe but sampled-label has the common factor sqrt(g) = exp((p2 - m) / 2), which underflows only for gaps above
// 1490. The imitation probe is v_i = sum_k T_ik with
//
//   T_ik = s_i s_k (s_k - s_i)(1 - s_i - s_k) / (sqrt(q_i q_k) (sqrt(q_i) + sqrt(q_k))) = -T_ki,  q = s (1 - s)
//
// computed term by term for the two largest classes, and from two sums for the others: F = sum f_k and D = sum d_k with
// d_i = sqrt(f_i/(Z - g f_i)) - t f_i. The result does not depend on t; with the t that makes d of the third largest
// class 0, v is exactly 0 at equal logits.
#pragma once

#include <cstdint>

#include "kernels/parallel.h"
#include "lehi/probe.h"

namespace lehi::kernels {

/// Input and output arrays, row by row. Targets are valid: class indices in range or ignore_index.
template <class T>
struct CrossEntropyBatch {
  const T* logits = nullptr;  ///< [rows, classes]
  std::int64_t rows = 0;
  std::int64_t classes = 0;
  const std::int64_t* indices = nullptr;  ///< [rows]: targets are class indices, or
  const T* probabilities = nullptr;       ///< [rows, classes]: targets are probabilities
  const double* class_weights = nullptr;  ///< [classes]; null: all 1
  double label_smoothing = 0.0;
  std::int64_t ignore_index = -100;
  Probe probe = Probe::gradient;
  Scale scale = Scale::sqrt_n;
  RandomKey key = {};
  T* u = nullptr;  ///< [rows, classes]
  T* v = nullptr;  ///< [rows, classes]; may be null with Probe::gradient
};

struct CrossEntropyResult {
  double sum = 0.0;
  double count = 0.0;
  bool finite = true;  ///< false when a logit is NaN or infinite; everything else is then unspecified
};

/// Writes u and, unless the probe is `gradient`, v.
CrossEntropyResult cross_entropy(const CrossEntropyBatch<float>& batch, const ParallelFor& parallel = {});
CrossEntropyResult cross_entropy(const CrossEntropyBatch<double>& batch, const ParallelFor& parallel = {});

}  // namespace lehi::kernels
