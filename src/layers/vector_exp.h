// exp for loops that the compiler vectorises, in the precision of its argument.
#pragma once

#include <bit>
#include <cstdint>

#include "kernels/vector_math.h"

namespace lehi::layers {

/// exp(x) for x <= 0 (larger x counts as 0); float32 within about an ulp, 0 below -87. As kernels::exp_of_nonpositive,
/// which serves float64.
LEHI_INLINE float exp_nonpositive(float x) {
  constexpr float rounder = 0x1.8p23F;
  constexpr float ln2_high = 0x1.62e4p-1F;  // k * ln2_high is exact for |k| < 2^9
  constexpr float ln2_low = 0x1.7f7d1cp-20F;
  x = x < 0.0F ? x : 0.0F;
  const float shifted = x * 0x1.715476p0F + rounder;
  const float k = shifted - rounder;
  const float r = (x - k * ln2_high) - k * ln2_low;
  float e = 1.0F / 5040;
  e = e * r + 1.0F / 720;
  e = e * r + 1.0F / 120;
  e = e * r + 1.0F / 24;
  e = e * r + 1.0F / 6;
  e = e * r + 0.5F;
  e = e * r + 1.0F;
  e = e * r + 1.0F;
  const auto bits = std::bit_cast<std::uint32_t>(e) + (std::bit_cast<std::uint32_t>(shifted) << 23U);
  return x < -87.0F ? 0.0F : std::bit_cast<float>(bits);
}
LEHI_INLINE double exp_nonpositive(double x) { return kernels::exp_of_nonpositive(x); }

/// 1 / (1 + exp(-x)), which keeps its digits where it is small.
template <class T>
LEHI_INLINE T sigmoid(T x) {
  const T e = exp_nonpositive(x < T(0) ? x : -x);
  const T inverse = T(1) / (T(1) + e);
  return x < T(0) ? e * inverse : inverse;
}

/// The sum of term(0), ..., term(n - 1) in 16 partial sums: a fixed order that vectorises.
template <class T, class Term>
LEHI_INLINE T sum_of(std::int64_t n, const Term& term) {
  constexpr std::int64_t lanes = 16;
  T sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (std::int64_t j = 0; j < lanes; ++j) sums[j] += term(i + j);
  }
  for (; i < n; ++i) sums[0] += term(i);
  T total = T(0);
  for (const T sum : sums) total += sum;
  return total;
}

}  // namespace lehi::layers
