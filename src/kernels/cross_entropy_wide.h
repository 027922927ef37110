// Softmax cross-entropy of one long float32 row with one target class, in float32 where float32 loses nothing: what the
// vocabulary of a language model needs. Terms as in kernels/cross_entropy.h; what changes is where they come from.
//
// Exponentials refer to the third largest logit p3 instead of the second: h_i = exp((p_i - p3) / 2), with f_i = f_3
// h_i^2 and f_3 = exp(p3 - p2) in float64. The two largest classes are computed in float64. Of all others the kernel
// also knows e_i = 1 - h_i to its last digits (exp(x) - 1 without subtraction), so that what the imitation probe must
// subtract are sums of numbers of one sign, with x_i = Z - g f_i and q_i = sqrt(x_i):
//
//   1 - h_i^2 = e_i (1 + h_i),  1 - f_i = (1 - f_3) + f_3 (1 - h_i^2),  1 - g f_i = (1 - g f_3) + g f_3 (1 - h_i^2),
//   d_i = sqrt(f_i/x_i) - f_i/sqrt(f_3 x_3) = sqrt(f_3) h_i e_i (q_3 (q_3 + q_i) - g f_3 h_i (1 + h_i)) / (q_i q_3 (q_3
//   + q_i))
//
// Each term then has the relative precision of float32; sums over the row are in float64. Equal logits still give v = 0
// exactly. That is for rows of logits near to each other; for the others r_i - s_i (sum of r_k) is as good, and
// cheaper.
#pragma once

#include <cstdint>

#include "kernels/draws.h"

namespace lehi::kernels {

struct WideRow {
  const float* logits = nullptr;
  std::int64_t classes = 0;  ///< at least 3
  std::int64_t target = 0;
  double weight = 1.0;  ///< c, of the target's class
  double factor = 1.0;  ///< of v: c or its root
  float* gradient = nullptr;
  float* second = nullptr;   ///< unless the probe is `gradient`
  float* scratch = nullptr;  ///< `classes` entries
  bool past_cache = false;   ///< the outputs will not stay in the cache: write around it
};

/// Rows from here on are worth it; shorter ones are mostly the few classes that need float64.
constexpr std::int64_t wide_classes = 64;

/// The probes that it knows.
constexpr bool wide_probe(Probe probe) { return probe != Probe::sampled_label; }

struct WideResult {
  double loss = 0.0;
  bool finite = true;
};

/// `index`: the row's, for its random signs.
WideResult cross_entropy_wide(const WideRow& row, Probe probe, const Draws& draws, std::int64_t index);

}  // namespace lehi::kernels
