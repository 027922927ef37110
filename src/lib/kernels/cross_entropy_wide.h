// Softmax cross-entropy of one long float32 row with one target class, in float32 where float32 loses nothing: what the
// vocabulary of a language model needs. Terms as in kernels/cross_entropy.h; what changes is where they come from.
//
// Exponentials refer to the third largest logit p3 instead of the second: h_i = exp((p_i - p3) / 2), with f_i = f_3
// h_i^2 and f_3 = exp(p3 - p2) in float64. The two largest classes and the target's are computed in float64, all others
// from h_i in float32, and sums over the row are in float64 again.
//
// The imitation probe is v_i = r_i - s_i (sum of r_k), r = sqrt(s / (1 - s)), which subtracts what is nearly equal when
// the logits are. A row that would lose digits to it is left to the float64 kernel, as are short rows: in a sum of few
// terms the rounding of each, 1e-7, shows in the value of the loss.
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

constexpr std::int64_t wide_classes = 1024;  ///< rows from here on

/// The probes that it knows.
constexpr bool wide_probe(Probe probe) { return probe != Probe::sampled_label; }

struct WideResult {
  double loss = 0.0;
  bool finite = true;   ///< false when a logit is NaN or infinite
  bool precise = true;  ///< false when float32 is not enough; what was written then means nothing, as does the loss
};

/// `index`: the row's, for its random signs.
WideResult cross_entropy_wide(const WideRow& row, Probe probe, const Draws& draws, std::int64_t index);

}  // namespace lehi::kernels
