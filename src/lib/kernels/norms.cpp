#include "kernels/norms.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/vector_math.h"

namespace lehi::kernels {
namespace {

// Partial sums over fixed chunks are added in order, so that the result does not depend on the number of threads.
constexpr std::int64_t chunk = 1 << 14;

template <class T>
LEHI_INLINE double square(T x) {
  return static_cast<double>(x) * static_cast<double>(x);
}

template <class T>
LEHI_INLINE T larger(T x, T y) {
  return x < y ? y : x;
}

// Reads the four quarters of the chunk at the same time: several streams of reads are faster than one.
template <class T>
LEHI_CLONES Norms chunk_norms(const T* x, std::int64_t size) {
  const std::int64_t quarter = size / 4;
  const T* y = x + quarter;
  const T* z = y + quarter;
  const T* w = z + quarter;
  double sum = 0.0;
  T largest = 0;
#pragma omp simd reduction(+ : sum) reduction(max : largest)
  for (std::int64_t i = 0; i < quarter; ++i) {
    sum += (square(x[i]) + square(y[i])) + (square(z[i]) + square(w[i]));
    const T of_four = larger(larger(std::abs(x[i]), std::abs(y[i])), larger(std::abs(z[i]), std::abs(w[i])));
    largest = larger(largest, of_four);
  }
  for (std::int64_t i = 4 * quarter; i < size; ++i) {
    sum += square(x[i]);
    largest = larger(largest, std::abs(x[i]));
  }
  Norms result;
  result.sum_of_squares = sum;
  result.largest = static_cast<double>(largest);
  // A NaN or infinity makes the sum non-finite, but so does the square of a finite float64 above 1e154.
  if (!std::isfinite(result.sum_of_squares)) {
    result.finite = std::all_of(x, x + size, [](T value) { return std::isfinite(value); });
  }
  return result;
}

template <class T>
Norms norms_of(const T* x, std::int64_t size, const ParallelFor& parallel) {
  const std::int64_t chunks = (size + chunk - 1) / chunk;
  if (chunks <= 1) return chunk_norms(x, size);
  std::vector<Norms> parts(static_cast<std::size_t>(chunks));
  parallel(chunks, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      parts[static_cast<std::size_t>(i)] = chunk_norms(x + i * chunk, std::min(chunk, size - i * chunk));
    }
  });
  Norms total;
  for (const Norms& part : parts) {
    total.sum_of_squares += part.sum_of_squares;
    total.largest = std::max(total.largest, part.largest);
    total.finite = total.finite && part.finite;
  }
  return total;
}

template <class T>
LEHI_CLONES bool chunk_is_within(const T* x, std::int64_t size, T limit) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  Bits beyond = 0;
  for (std::int64_t i = 0; i < size; ++i) beyond |= std::abs(x[i]) <= limit ? Bits{0} : Bits{1};  // 1 for NaN, too
  return beyond == 0;
}

template <class T>
bool all_within(const T* x, std::int64_t size, double limit, const ParallelFor& parallel) {
  const T nearest = static_cast<T>(std::min(limit, static_cast<double>(std::numeric_limits<T>::max())));
  std::atomic<bool> within = true;
  parallel(size, 4 * chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end && within; i += chunk) {
      if (!chunk_is_within(x + i, std::min(chunk, end - i), nearest)) within = false;
    }
  });
  return within;
}

}  // namespace

Norms norms(const float* x, std::int64_t size, const ParallelFor& parallel) { return norms_of(x, size, parallel); }
Norms norms(const double* x, std::int64_t size, const ParallelFor& parallel) { return norms_of(x, size, parallel); }

bool is_within(const float* x, std::int64_t size, double limit, const ParallelFor& parallel) {
  return all_within(x, size, limit, parallel);
}

bool is_within(const double* x, std::int64_t size, double limit, const ParallelFor& parallel) {
  return all_within(x, size, limit, parallel);
}

}  // namespace lehi::kernels
