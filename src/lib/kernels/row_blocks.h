// Loops over a long float32 row in blocks that stay in the L1 cache: float32 values first, then their sums in float64,
// or their streaming stores. In a single loop g++ would use vectors of only as many float32 as fit float64.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/vector_math.h"

namespace lehi::kernels {

constexpr std::int64_t block_size = 1024;
using Block = std::array<float, block_size>;

/// Calls part(begin, end) for every block of a row of n entries. The first block is `less` entries shorter.
template <class Part>
LEHI_INLINE void for_blocks(std::int64_t n, const Part& part, std::int64_t less = 0) {
  for (std::int64_t begin = 0; begin < n;) {
    const std::int64_t end = std::min(n, begin + block_size - less);
    part(begin, end);
    begin = end;
    less = 0;
  }
}

/// How many entries x is past the start of a cache line. With a first block shorter by that many, all other blocks of
/// the output begin at a cache line.
LEHI_INLINE std::int64_t floats_past_line(const float* x) {
  constexpr std::uintptr_t line = 64;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): an address
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) % line / sizeof(float));
}

/// to[0..n) = from[0..n), with stream_copy() if `streaming`.
LEHI_INLINE void write_block(const Block& from, std::int64_t n, bool streaming, float* to) {
  if (streaming) return stream_copy(from.data(), n, to);
  std::copy(from.begin(), from.begin() + n, to);
}

/// term(0) + ... + term(n - 1) in float64. Four quarters are summed at the same time, which shortens the dependency
/// chain of additions.
template <class Term>
LEHI_INLINE double block_sum(std::int64_t n, const Term& term) {
  const std::int64_t quarter = n / 4;
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < quarter; ++i) {
    sum += (term(i) + term(quarter + i)) + (term(2 * quarter + i) + term(3 * quarter + i));
  }
  for (std::int64_t i = 4 * quarter; i < n; ++i) sum += term(i);
  return sum;
}

LEHI_INLINE double block_sum(const float* x, std::int64_t n) {
  return block_sum(
      n, [x](std::int64_t i) __attribute__((always_inline)) { return static_cast<double>(x[i]); });
}

LEHI_INLINE double block_squares(const float* x, std::int64_t n) {
  return block_sum(
      n, [x](std::int64_t i) __attribute__((always_inline)) {
        const double value = x[i];
        return value * value;
      });
}

}  // namespace lehi::kernels
