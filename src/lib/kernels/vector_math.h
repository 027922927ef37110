// Building blocks of fast plain loops: function versions per instruction set, an exponential that the compiler can
// vectorise, reductions over independent lanes, and streaming (non-temporal) stores.
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

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LEHI_LEVELS
#endif

// LEHI_CLONES: the function is compiled for AVX-512, AVX2 and the baseline, and the loader selects one. Functions that
// it calls must be LEHI_INLINE to be compiled for the same instruction set. (Not under the thread sanitizer, which is
// not initialised yet when the loader selects.) For tests, LEHI_LEVEL selects the only version to compile: 1 for the
// baseline or 3 for AVX2.
#if defined(LEHI_LEVELS) && defined(LEHI_LEVEL) && LEHI_LEVEL == 3
#define LEHI_CLONES __attribute__((target("arch=x86-64-v3")))
#elif defined(LEHI_LEVELS) && !defined(LEHI_LEVEL) && !defined(__SANITIZE_THREAD__)
#define LEHI_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define LEHI_CLONES
#endif
#define LEHI_INLINE [[gnu::always_inline]] inline

namespace lehi::kernels {

/// Constants of exp_of_nonpositive(). The polynomials are the minimax approximations (Remez) on |r| <= log(2)/2 among
/// those that begin with 1 + r, in float64 with 1 + r + r^2/2, so that exp(0) is exactly 1.
template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  using Bits = std::uint32_t;
  static constexpr float least = -87.0F;           // below it the result is 0; exp(-87.34) is subnormal
  static constexpr float ln2_high = 0x1.62e4p-1F;  // k * ln2_high is exact for |k| < 2^9
  static constexpr float ln2_low = 0x1.7f7d1cp-20F;
  // of r^6 down to r^2; error below 4e-9
  static constexpr std::array coefficients = {0.00138145406F, 0.00836874545F, 0.041668389F, 0.166665211F, 0.49999994F};
};

template <>
struct ExpConstants<double> {
  using Bits = std::uint64_t;
  static constexpr double least = -708.0;
  static constexpr double ln2_high = 0x1.62e42fefa0000p-1;  // k * ln2_high is exact for |k| < 2^13
  static constexpr double ln2_low = 0x1.cf79abc9e3b39p-40;
  // of r^11 down to r^2; error below 6e-18
  static constexpr std::array coefficients = {2.4978328976315502e-08, 2.7625244028153767e-07,
                                              2.7557641370365484e-06, 2.4801508550275955e-05,
                                              0.0001984126946531545,  0.0013888888926891776,
                                              0.008333333333500578,   0.04166666666660375,
                                              0.16666666666666433,    0.5};
};

/// exp(x) for x <= 0 with an error of at most 1.02 units in the last place. For x > 0 the result is 1, for x < `least`
/// it is 0, for NaN it is NaN. Method: exp(x) = 2^k exp(r) with |r| <= log(2)/2; adding and subtracting 1.5 times a
/// power of two rounds x / log 2 to the integer k and leaves k in the low bits.
template <class T>
LEHI_INLINE T exp_of_nonpositive(T x) {
  using Constants = ExpConstants<T>;
  using Bits = typename Constants::Bits;
  constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;
  constexpr T rounder = T(1.5) * T(Bits{1} << mantissa_bits);
  constexpr T inverse_ln2 = T(0x1.71547652b82fep0);
  const T shifted = x * inverse_ln2 + rounder;
  const T k = shifted - rounder;
  const T r = (x - k * Constants::ln2_high) - k * Constants::ln2_low;
  // Two coefficients at a time (Horner's scheme in r^2), which halves the dependency chain.
  constexpr auto& c = Constants::coefficients;
  constexpr bool odd = c.size() % 2 == 1;
  const T r2 = r * r;
  T q = odd ? c[0] : c[0] * r + c[1];
  for (std::size_t n = odd ? 1 : 2; n < c.size(); n += 2) q = q * r2 + (c[n] * r + c[n + 1]);
  const T e = (q * r2 + r) + T(1);
  // A product, not an addition of exponent bits, which would turn a NaN into a number.
  const Bits power = (std::bit_cast<Bits>(shifted) << mantissa_bits) + std::bit_cast<Bits>(T(1));
  const T value = e * std::bit_cast<T>(power);
  // Here rather than by clamping x first, for which g++ generates slower code.
  const T above_least = x < Constants::least ? T(0) : value;
  return x >= T(0) ? T(1) : above_least;
}

/// 1 / (1 + exp(-x)), with full relative precision where it is small.
template <class T>
LEHI_INLINE T sigmoid(T x) {
  const T e = exp_of_nonpositive(x < T(0) ? x : -x);
  const T inverse = T(1) / (T(1) + e);
  return x < T(0) ? e * inverse : inverse;
}

constexpr std::int64_t lane_count = 8;

/// term(0) + ... + term(n - 1) in eight partial sums, sixteen with float32: a fixed order that vectorises.
template <class T = double, class Term>
LEHI_INLINE T lane_sum(std::int64_t n, const Term& term) {
  constexpr std::int64_t count = std::is_same_v<T, float> ? 2 * lane_count : lane_count;
  std::array<T, count> lanes = {};
  std::int64_t i = 0;
  for (; i + count <= n; i += count) {
    for (std::int64_t j = 0; j < count; ++j) lanes[static_cast<std::size_t>(j)] += term(i + j);
  }
  for (; i < n; ++i) lanes[0] += term(i);
  T sum = 0;
  for (const T lane : lanes) sum += lane;
  return sum;
}

/// The maximum of x[0..n) and `least`; NaN entries are ignored.
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

/// True when x[0..n) has no NaN and no infinity (all exponent bits set).
template <class T, class Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>
LEHI_INLINE bool all_finite(const T* x, std::int64_t n) {
  constexpr Bits exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits bad = 0;
  for (std::int64_t i = 0; i < n; ++i) bad |= (std::bit_cast<Bits>(x[i]) & exponent) == exponent ? Bits{1} : Bits{0};
  return bad == 0;
}

/// to[0..n) = from[0..n) with streaming stores, which neither read nor evict cache lines. Call finish_streaming()
/// afterwards, before another thread reads.
#ifdef LEHI_STREAMS
[[gnu::target("avx")]] inline void stream_copy(const float* from, std::int64_t n, float* to) {
  constexpr std::int64_t width = 8;
  std::int64_t i = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): an address
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % sizeof(__m256) != 0; ++i) to[i] = from[i];
  for (; i + width <= n; i += width) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
  for (; i < n; ++i) to[i] = from[i];
}
inline bool can_stream() { return __builtin_cpu_supports("avx") != 0; }
inline void finish_streaming() { _mm_sfence(); }
#else
inline void stream_copy(const float* from, std::int64_t n, float* to) { std::copy(from, from + n, to); }
inline bool can_stream() { return false; }
inline void finish_streaming() {}
#endif

}  // namespace lehi::kernels
