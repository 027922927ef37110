// Softmax cross-entropy of one long float32 row with one target class (the vocabulary of a language model), computed in
// float32 where that is precise enough. Notation as in kernels/cross_entropy.h.
//
// Exponentials are relative to the third largest logit p3 instead of the second: h_i = exp((p_i - p3) / 2), with f_i =
// f_3 h_i^2 and f_3 = exp(p3 - p2) in float64. The two largest classes and the target class are computed in float64,
// all others from h_i in float32. Sums over the row are in float64.
//
// The imitation probe is v_i = r_i - s_i (sum of r_k), r = sqrt(s / (1 - s)), which cancels when the
// logits are nearly equal: the kernel then reports `precise = false`, and the caller uses the float64 kernel. Short
// rows always use the float64 kernel: in a sum of few terms the rounding error of each, 1e-7, is visible in the loss.
#pragma once

#include <cstdint>

#include "kernels/draws.h"

namespace lehi::kernels {

struct WideRow {
  const float* logits = nullptr;
  std::int64_t classes = 0;  ///< at least 3
  std::int64_t target = 0;
  double weight = 1.0;  ///< c, the weight of the target class
  double factor = 1.0;  ///< of v: c or sqrt(c)
  float* u = nullptr;
  float* v = nullptr;        ///< null with Probe::gradient
  float* scratch = nullptr;  ///< `classes` entries
  bool streaming = false;    ///< write u and v around the cache
};

/// Rows with at least this many classes are wide.
constexpr std::int64_t wide_classes = 1024;

/// True for the probes that this kernel computes.
constexpr bool wide_probe(Probe probe) { return probe != Probe::sampled_label; }

struct WideResult {
  double loss = 0.0;
  bool finite = true;   ///< false when a logit is NaN or infinite
  bool precise = true;  ///< false when float32 is not precise enough: loss, u and v are then unspecified
};

/// `index` is the row's index, which selects its random signs.
WideResult cross_entropy_wide(const WideRow& row, Probe probe, const Draws& draws, std::int64_t index);

}  // namespace lehi::kernels
