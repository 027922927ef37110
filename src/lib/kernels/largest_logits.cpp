#include "kernels/largest_logits.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "kernels/vector_math.h"

namespace lehi::kernels {
namespace {

// A row in at most 512 segments with the maximum of each, to find the index of a value.
struct Segments {
  explicit Segments(std::int64_t n) : length(std::max<std::int64_t>(1, (n / 512 + 64) / 64) * 64) {}

  // The first index >= begin of a value that exists.
  std::int64_t find(float value, const float* p, std::int64_t begin, std::int64_t n) const {
    for (;; begin = (begin / length + 1) * length) {
      const std::int64_t segment = begin / length;
      if (maxima[static_cast<std::size_t>(segment)] < value) continue;
      const float* end = p + std::min(n, (segment + 1) * length);
      const float* found = std::find(p + begin, end, value);
      if (found != end) return found - p;
    }
  }

  std::int64_t length;
  std::array<float, 513> maxima;
};

LEHI_CLONES LargestLogits find_largest(const float* p, std::int64_t n) {
  constexpr std::size_t lanes = 16;
  constexpr float lowest = std::numeric_limits<float>::lowest();
  using Lanes = std::array<float, lanes>;
  Lanes first;
  Lanes second;
  Lanes third;
  Lanes zeros = {};  // sum of 0 * x: becomes NaN with the first NaN or infinity
  first.fill(lowest);
  second.fill(lowest);
  third.fill(lowest);
  Segments segments(n);
  for (std::int64_t begin = 0; begin < n; begin += segments.length) {
    const std::int64_t end = std::min(n, begin + segments.length);
    Lanes largest;
    largest.fill(lowest);
    const auto insert = [&](float x, std::size_t lane) __attribute__((always_inline)) {
      const float below_first = x < first[lane] ? x : first[lane];
      first[lane] = x > first[lane] ? x : first[lane];
      const float below_second = below_first < second[lane] ? below_first : second[lane];
      second[lane] = below_first > second[lane] ? below_first : second[lane];
      third[lane] = below_second > third[lane] ? below_second : third[lane];
      largest[lane] = x > largest[lane] ? x : largest[lane];
      zeros[lane] += 0.0F * x;
    };
    std::int64_t i = begin;
    for (; i + static_cast<std::int64_t>(lanes) <= end; i += static_cast<std::int64_t>(lanes)) {
      for (std::size_t lane = 0; lane < lanes; ++lane) insert(p[i + static_cast<std::int64_t>(lane)], lane);
    }
    for (; i < end; ++i) insert(p[i], 0);
    segments.maxima[static_cast<std::size_t>(begin / segments.length)] =
        *std::max_element(largest.begin(), largest.end());
  }

  std::array<float, 3 * lanes> all;
  std::copy(first.begin(), first.end(), all.begin());
  std::copy(second.begin(), second.end(), all.begin() + lanes);
  std::copy(third.begin(), third.end(), all.begin() + 2 * lanes);
  std::partial_sort(all.begin(), all.begin() + 3, all.end(), std::greater<>());
  LargestLogits result;
  for (const float zero : zeros) result.finite = result.finite && zero == 0.0F;
  if (!result.finite) return result;
  result.m = all[0];
  result.p2 = all[1];
  result.p3 = all[2];
  result.top = segments.find(result.m, p, 0, n);
  // If both are equal, the second comes after the first.
  result.second = segments.find(result.p2, p, result.p2 == result.m ? result.top + 1 : 0, n);
  return result;
}

}  // namespace

LargestLogits largest_logits(const float* p, std::int64_t n) { return find_largest(p, n); }

}  // namespace lehi::kernels
