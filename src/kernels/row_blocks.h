// A long float32 row in blocks that stay in the first cache: first what is computed in float32, then its sums in
// float64, or its way around the cache. In one loop g++ would make vectors of as many float32 as a vector has float64.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/vector_math.h"

namespace lehi::kernels {

constexpr std::int64_t block_size = 1024;
using Block = std::array<float, block_size>;

/// part(begin, end) of every block of a row of n; the first is `less` shorter.
template <class Part>
LEHI_INLINE void for_blocks(std::int64_t n, const Part& part, std::int64_t less = 0) {
  for (std::int64_t begin = 0; begin < n;) {
    const std::int64_t end = std::min(n, begin + block_size - less);
    part(begin, end);
    begin = end;
    less = 0;
  }
}

/// By how much the first block must be shorter for the others to begin with a cache line of the output.
LEHI_INLINE std::int64_t into_line(const float* x) {
  constexpr std::uintptr_t line = 64;
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) % line / sizeof(float));
}

/// to[0..n) = from[0..n), see write_past_cache().
LEHI_INLINE void write_block(const Block& from, std::int64_t n, bool past_cache, float* to) {
  if (past_cache) return write_past_cache(from.data(), n, to);
  std::copy(from.begin(), from.begin() + n, to);
}

/// Sums in float64.
LEHI_INLINE double block_sum(const float* x, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

/// Adds the sum of x and that of its squares, in one pass.
LEHI_INLINE void add_block_sums(const float* x, std::int64_t n, double& values, double& squares) {
  double sum = 0.0;
  double sum_of_squares = 0.0;
#pragma omp simd reduction(+ : sum, sum_of_squares)
  for (std::int64_t i = 0; i < n; ++i) {
    const double value = x[i];
    sum += value;
    sum_of_squares += value * value;
  }
  values += sum;
  squares += sum_of_squares;
}

LEHI_INLINE double block_squares(const float* x, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

}  // namespace lehi::kernels
