// What makes a plain loop fast on the machine at hand, without intrinsics: function versions per instruction set, an
// exponential that the compiler can vectorise, and reductions over independent lanes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#if defined(__x86_64__) && defined(__GNUC__)
#define LEHI_STREAMS
#include <immintrin.h>
#endif

// The function is compiled for AVX-512, AVX2 and the baseline; the loader picks one. Everything it calls must be
// inlined into it to profit, hence LEHI_INLINE.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LEHI_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LEHI_CLONES
#endif
#define LEHI_INLINE [[gnu::always_inline]] inline

namespace lehi::kernels {

/// exp(x) for x <= 0, about one unit in the last place; larger x counts as 0, and below -708 the result is 0.
/// exp(x) = 2^k exp(r) with |r| <= log(2)/2: adding and subtracting 1.5 * 2^52 rounds x / log 2 to the integer k and
/// leaves k in the low bits; exp(r) is its Taylor polynomial, whose first omitted term is below 2e-16.
LEHI_INLINE double exp_of_nonpositive(double x) {
  constexpr double rounder = 0x1.8p52;
  constexpr double ln2_high = 0x1.62e42fefa0000p-1;  // k * ln2_high is exact for |k| < 2^13
  constexpr double ln2_low = 0x1.cf79abc9e3b39p-40;
  x = x < 0.0 ? x : 0.0;
  const double shifted = x * 0x1.71547652b82fep0 + rounder;
  const double k = shifted - rounder;
  const double r = (x - k * ln2_high) - k * ln2_low;
  double e = 1.0 / 479001600;
  e = e * r + 1.0 / 39916800;
  e = e * r + 1.0 / 3628800;
  e = e * r + 1.0 / 362880;
  e = e * r + 1.0 / 40320;
  e = e * r + 1.0 / 5040;
  e = e * r + 1.0 / 720;
  e = e * r + 1.0 / 120;
  e = e * r + 1.0 / 24;
  e = e * r + 1.0 / 6;
  e = e * r + 0.5;
  e = e * r + 1.0;
  e = e * r + 1.0;
  const auto bits = std::bit_cast<std::uint64_t>(e) + (std::bit_cast<std::uint64_t>(shifted) << 52U);
  return x < -708.0 ? 0.0 : std::bit_cast<double>(bits);
}

constexpr std::int64_t lane_count = 8;

/// term(0) + ... + term(n - 1) in eight partial sums: a fixed order that vectorises.
template <class Term>
LEHI_INLINE double lane_sum(std::int64_t n, const Term& term) {
  std::array<double, lane_count> lanes = {};
  std::int64_t i = 0;
  for (; i + lane_count <= n; i += lane_count) {
    for (std::int64_t j = 0; j < lane_count; ++j) lanes[static_cast<std::size_t>(j)] += term(i + j);
  }
  for (; i < n; ++i) lanes[0] += term(i);
  double sum = 0.0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

/// The largest of x[0..n), or `least` when that is larger; NaN entries are passed over.
template <class T>
LEHI_INLINE T lane_max(const T* x, std::int64_t n, T least) {
  std::array<T, 2 * lane_count> lanes = {};
  lanes.fill(least);
  std::int64_t i = 0;
  for (; i + 2 * lane_count <= n; i += 2 * lane_count) {
    for (std::int64_t j = 0; j < 2 * lane_count; ++j) {
      T& lane = lanes[static_cast<std::size_t>(j)];
      lane = x[i + j] > lane ? x[i + j] : lane;
    }
  }
  for (; i < n; ++i) lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
  return *std::max_element(lanes.begin(), lanes.end());
}

/// False when x[0..n) holds a NaN or an infinity, whose exponent bits are all set.
template <class T, class Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>
LEHI_INLINE bool all_finite(const T* x, std::int64_t n) {
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits bad = 0;
  for (std::int64_t i = 0; i < n; ++i) bad |= (std::bit_cast<Bits>(x[i]) & exponent) == exponent ? Bits{1} : Bits{0};
  return bad == 0;
}

/// to[0..n) = from[0..n), written around the cache: no line of it is read first, and none drives another out.
/// Afterwards finish_writes(), before another thread may read.
#ifdef LEHI_STREAMS
[[gnu::target("avx")]] inline void write_past_cache(const float* from, std::int64_t n, float* to) {
  constexpr std::int64_t width = 8;
  std::int64_t i = 0;
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % sizeof(__m256) != 0; ++i) to[i] = from[i];
  for (; i + width <= n; i += width) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
  for (; i < n; ++i) to[i] = from[i];
}
inline bool can_write_past_cache() { return __builtin_cpu_supports("avx") != 0; }
inline void finish_writes() { _mm_sfence(); }
#else
inline void write_past_cache(const float* from, std::int64_t n, float* to) { std::copy(from, from + n, to); }
inline bool can_write_past_cache() { return false; }
inline void finish_writes() {}
#endif

}  // namespace lehi::kernels
