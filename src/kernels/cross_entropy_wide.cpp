#include "kernels/cross_entropy_wide.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "kernels/vector_math.h"

namespace lehi::kernels {
namespace {

// The three largest logits, and where the two largest are.
struct Largest {
  std::int64_t top = 0;
  std::int64_t second = 0;
  float m = 0.0F;
  float p2 = 0.0F;
  float p3 = 0.0F;
  bool finite = true;
};

// A row in at most 512 pieces, with the largest logit of each: where to look for a value.
struct Pieces {
  explicit Pieces(std::int64_t n) : length(std::max<std::int64_t>(1, (n / 512 + 64) / 64) * 64) {}

  // The first place of a value that is there, from `begin` on.
  std::int64_t place_of(float value, const float* p, std::int64_t begin, std::int64_t n) const {
    for (;; begin = (begin / length + 1) * length) {
      const std::int64_t piece = begin / length;
      if (maxima[static_cast<std::size_t>(piece)] < value) continue;
      const float* end = p + std::min(n, (piece + 1) * length);
      const float* found = std::find(p + begin, end, value);
      if (found != end) return found - p;
    }
  }

  std::int64_t length;
  std::array<float, 513> maxima;
};

LEHI_INLINE Largest largest_of(const float* p, std::int64_t n) {
  constexpr std::size_t lanes = 16;
  constexpr float lowest = std::numeric_limits<float>::lowest();
  using Lanes = std::array<float, lanes>;
  Lanes first;
  Lanes second;
  Lanes third;
  Lanes zeros = {};  // 0 times everything: NaN after a NaN or an infinity
  first.fill(lowest);
  second.fill(lowest);
  third.fill(lowest);
  Pieces pieces(n);
  for (std::int64_t begin = 0; begin < n; begin += pieces.length) {
    const std::int64_t end = std::min(n, begin + pieces.length);
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
    pieces.maxima[static_cast<std::size_t>(begin / pieces.length)] = *std::max_element(largest.begin(), largest.end());
  }

  std::array<float, 3 * lanes> all;
  std::copy(first.begin(), first.end(), all.begin());
  std::copy(second.begin(), second.end(), all.begin() + lanes);
  std::copy(third.begin(), third.end(), all.begin() + 2 * lanes);
  std::partial_sort(all.begin(), all.begin() + 3, all.end(), std::greater<>());
  Largest result;
  for (const float zero : zeros) result.finite = result.finite && zero == 0.0F;
  if (!result.finite) return result;
  result.m = all[0];
  result.p2 = all[1];
  result.p3 = all[2];
  result.top = pieces.place_of(result.m, p, 0, n);
  // An equal second comes after it.
  result.second = pieces.place_of(result.p2, p, result.p2 == result.m ? result.top + 1 : 0, n);
  return result;
}

// h = exp(p / 2 - origin / 2); a p above the origin counts as it.
LEHI_INLINE float root_of(float p, float half_origin) { return exp_of_nonpositive(0.5F * p - half_origin); }

// A row's softmax, in the terms of the two headers.
struct Softmax {
  std::int64_t classes;
  float p3;
  double gap, gap3;    // p2 - m, p3 - p2
  double g, root_g;    // exp(gap) and its root
  double f3, root_f3;  // exp(gap3) and its root
  double rest, b, z;
};

LEHI_INLINE Softmax softmax_of(std::int64_t classes, const Largest& largest, double sum_of_squares) {
  Softmax s;
  s.classes = classes;
  s.p3 = largest.p3;
  s.gap = static_cast<double>(largest.p2) - static_cast<double>(largest.m);
  s.gap3 = static_cast<double>(largest.p3) - static_cast<double>(largest.p2);
  s.g = std::exp(s.gap);
  s.root_g = std::exp(0.5 * s.gap);
  s.f3 = std::exp(s.gap3);
  s.root_f3 = std::exp(0.5 * s.gap3);
  s.rest = s.f3 * (sum_of_squares - 2.0);  // the two largest counted as the third
  s.b = 1.0 + s.rest;
  s.z = 1.0 + s.g * s.b;
  return s;
}

// Classes at a time: first what is in float32, then, from the first cache, its sums in float64. In one loop g++ would
// make vectors of as many float32 as a vector has float64.
constexpr std::int64_t block = 1024;
using Block = std::array<float, block>;

// part(begin, end) of every block; the first is `less` shorter.
template <class Part>
LEHI_INLINE void for_blocks(std::int64_t n, const Part& part, std::int64_t less = 0) {
  for (std::int64_t begin = 0; begin < n;) {
    const std::int64_t end = std::min(n, begin + block - less);
    part(begin, end);
    begin = end;
    less = 0;
  }
}

// By how much the first block must be shorter for the others to begin with a cache line of the output.
LEHI_INLINE std::int64_t into_line(const float* x) {
  constexpr std::uintptr_t line = 64;
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(x) % line / sizeof(float));
}

LEHI_INLINE void write(const Block& from, std::int64_t n, bool past_cache, float* to) {
  if (past_cache) return write_past_cache(from.data(), n, to);
  std::copy(from.begin(), from.begin() + n, to);
}

// Writes u and, unless it is null, v: compute(h, u, v) of each h in the scratch, where v comes as 0.
template <class Compute>
LEHI_INLINE void emit(const WideRow& row, const Compute& compute) {
  const auto part = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    Block u;
    Block v;
    const float* h = row.scratch + begin;
    const std::int64_t n = end - begin;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) {
      float own_u = 0.0F;
      float own_v = 0.0F;
      compute(h[i], own_u, own_v);
      u[static_cast<std::size_t>(i)] = own_u;
      v[static_cast<std::size_t>(i)] = own_v;
    }
    write(u, n, row.past_cache, row.gradient + begin);
    if (row.second != nullptr) write(v, n, row.past_cache, row.second + begin);
  };
  for_blocks(row.classes, part, into_line(row.gradient));
}

LEHI_INLINE double sum_of(const float* x, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

// Of both in one pass.
LEHI_INLINE void add_sums(const float* x, std::int64_t n, double& values, double& squares) {
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

LEHI_INLINE double sum_of_squares(const float* x, std::int64_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

// Keeps every h in the scratch; returns the sum of h^2.
LEHI_INLINE double keep_roots(const WideRow& row, float origin) {
  const float half_origin = 0.5F * origin;
  const float* p = row.logits;
  float* roots = row.scratch;
  double squares = 0.0;
  const auto part = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) roots[i] = root_of(p[i], half_origin);
    squares += sum_of_squares(roots + begin, end - begin);
  };
  for_blocks(row.classes, part);
  return squares;
}

// The same with a random sign for every h; `mix` is their sum.
LEHI_INLINE double keep_signed_roots(const WideRow& row, float origin, const Draws& draws, std::int64_t index,
                                     double& mix) {
  constexpr std::int64_t word = 32;
  const float half_origin = 0.5F * origin;
  const float* p = row.logits;
  float* roots = row.scratch;
  double squares = 0.0;
  double sum = 0.0;
  SignWords words;
  std::array<std::uint32_t, block> minus;
  static_assert(std::tuple_size_v<SignWords> * word == block);
  const auto part = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    draws.sign_words(index, begin / block, words);
    for (std::size_t w = 0; w < words.size(); ++w) {
      for (std::uint32_t i = 0; i < word; ++i) minus[w * word + i] = ~words[w] << (word - 1 - i) & 0x80000000U;
    }
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint32_t h = std::bit_cast<std::uint32_t>(root_of(p[i], half_origin));
      roots[i] = std::bit_cast<float>(h | minus[static_cast<std::size_t>(i - begin)]);
    }
    add_sums(roots + begin, end - begin, sum, squares);
  };
  for_blocks(row.classes, part);
  mix = sum;
  return squares;
}

// 1 / sqrt(1 - y) by a polynomial: a root and a division would be most of the work. y is a class's probability, 1/3 at
// most: both the largest and the second largest class have no less.
struct AnyShare {  // Chebyshev's, of degree 7 in 6 y - 1: 5e-9 at most
  LEHI_INLINE static float inverse_root(float y) {
    const float t = 6.0F * y - 1.0F;
    const float t2 = t * t;
    const float first = (0.0027386658F * t + 0.0164318254F) * t2 + (0.1095445075F * t + 1.0954451103F);
    const float second = (0.0000031848383F * t + 0.0000169751081F) * t2 + (0.0000860770570F * t + 0.0004785200768F);
    return second * (t2 * t2) + first;
  }
};

struct SmallShare {  // Taylor's, for y < 1/64: 2e-8 at most
  static constexpr double bound = 1.0 / 64;
  LEHI_INLINE static float inverse_root(float y) { return ((0.3125F * y + 0.375F) * y + 0.5F) * y + 1.0F; }
};

// v_i = r_i - s_i (sum of r_k), r = sqrt(s / (1 - s)). The scratch holds the roots. False where float32 has not enough
// digits, because v is below a sixth of r: logits near to each other. (The two largest classes, counted as the third
// here, change nothing about that.)
template <class Share>
LEHI_INLINE bool imitation(const WideRow& row, const Softmax& s, const Largest& largest, double squares,
                           float u_scale) {
  const float* h = row.scratch;
  float* v = row.second;
  const auto share = static_cast<float>(s.g * s.f3 / s.z);
  double sum = 0.0;
  const auto add = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    Block r;
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) {
      r[static_cast<std::size_t>(i - begin)] = h[i] * Share::inverse_root(share * (h[i] * h[i]));
    }
    sum += sum_of(r.data(), end - begin);
  };
  for_blocks(s.classes, add);
  const double unit = s.root_f3 / std::sqrt(s.z);  // of r
  sum = unit * (sum - 2.0 * static_cast<double>(Share::inverse_root(share)));

  const double root_b = std::sqrt(s.b);
  const double b2 = std::sqrt(s.z - s.g);
  const double scale = row.factor * s.root_g;
  const auto own = static_cast<float>(scale * unit);
  const double common = unit * (1.0 / root_b + s.g / b2 + s.g * sum);
  const auto shared = static_cast<float>(common);
  const auto shared_rest = static_cast<float>(common - static_cast<double>(shared));
  float left = 0.0F;
  const auto part = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    const std::int64_t n = end - begin;
    Block own_u;
    Block own_v;
    float some = 0.0F;
#pragma omp simd reduction(+ : some)
    for (std::int64_t i = 0; i < n; ++i) {
      const float root = h[begin + i];
      const float square = root * root;
      const float r = root * Share::inverse_root(share * square);
      const float difference = (r - shared * square) - shared_rest * square;
      some += difference * difference;
      own_u[static_cast<std::size_t>(i)] = u_scale * square;
      own_v[static_cast<std::size_t>(i)] = own * difference;
    }
    left += some;
    write(own_u, n, row.past_cache, row.gradient + begin);
    write(own_v, n, row.past_cache, v + begin);
  };
  for_blocks(s.classes, part, into_line(row.gradient));
  if (36.0 * static_cast<double>(left) < squares) return false;
  const double top_and_second = s.rest * -std::expm1(s.gap) / (b2 * s.z * root_b * (b2 + root_b));
  v[largest.top] = static_cast<float>(-scale * (top_and_second + (sum - s.rest / root_b) / s.z));
  v[largest.second] = static_cast<float>(scale * (top_and_second - s.g * (sum - s.rest / b2) / s.z));
  return true;
}

// The scratch holds the signed roots, their sum is `mix`.
LEHI_INLINE void gauss_newton(const WideRow& row, const Softmax& s, const Largest& largest, double mix, float u_scale) {
  float* v = row.second;
  const double sign = row.scratch[largest.top] > 0.0F ? 1.0 : -1.0;
  const double second_sign = row.scratch[largest.second] > 0.0F ? 1.0 : -1.0;
  const double all = s.root_g * (second_sign + s.root_f3 * (mix - sign - second_sign));
  const double scale = row.factor / std::sqrt(s.z);
  const double own = scale * s.root_g;
  const double shared = scale * (sign + all) * s.g / s.z;
  const auto own3 = static_cast<float>(own * s.root_f3);
  const auto shared3 = static_cast<float>(shared * s.f3);
  emit(
      row, [=](float root, float& own_u, float& own_v) __attribute__((always_inline)) {
        const float square = root * root;
        own_u = u_scale * square;
        own_v = own3 * root - shared3 * square;
      });
  v[largest.top] = static_cast<float>(scale * (sign * (s.g * s.b / s.z) - all / s.z));
  v[largest.second] = static_cast<float>(own * second_sign - shared);
}

LEHI_INLINE void diagonal(const WideRow& row, const Softmax& s, const Largest& largest, float u_scale) {
  const double scale = row.factor * s.root_g / s.z;
  const auto own3 = static_cast<float>(scale * s.root_f3);
  const auto z = static_cast<float>(s.z);
  const auto gf3 = static_cast<float>(s.g * s.f3);
  emit(
      row, [=](float root, float& own_u, float& own_v) __attribute__((always_inline)) {
        const float square = root * root;
        own_u = u_scale * square;
        own_v = own3 * root * std::sqrt(z - gf3 * square);
      });
  row.second[largest.top] = static_cast<float>(scale * std::sqrt(s.b));
  row.second[largest.second] = static_cast<float>(scale * std::sqrt(s.z - s.g));
}

LEHI_CLONES WideResult run(const WideRow& row, Probe probe, const Draws& draws, std::int64_t index) {
  const std::int64_t n = row.classes;
  const float* p = row.logits;
  const Largest largest = largest_of(p, n);
  if (!largest.finite) return {.finite = false};
  float* u = row.gradient;
  double mix = 0.0;
  double squares = 0.0;
  if (probe == Probe::gauss_newton) {
    squares = keep_signed_roots(row, largest.p3, draws, index, mix);
  } else {
    squares = keep_roots(row, largest.p3);
  }
  const Softmax s = softmax_of(n, largest, squares);
  const double c = row.weight;
  const auto u_scale = static_cast<float>(c * s.g * s.f3 / s.z);
  if (probe == Probe::imitation) {
    const bool precise = s.g * s.f3 / s.z < SmallShare::bound ? imitation<SmallShare>(row, s, largest, squares, u_scale)
                                                              : imitation<AnyShare>(row, s, largest, squares, u_scale);
    if (!precise) return {.precise = false};
  } else if (probe == Probe::gauss_newton) {
    gauss_newton(row, s, largest, mix, u_scale);
  } else if (probe == Probe::diagonal) {
    diagonal(row, s, largest, u_scale);
  } else {
    emit(
        row, [=](float root, float& own_u, float&) __attribute__((always_inline)) { own_u = u_scale * (root * root); });
  }

  // The classes that need float64: the target's, and the two largest.
  const std::int64_t y = row.target;
  const double distance = static_cast<double>(largest.m) - static_cast<double>(p[y]);
  if (y != largest.top && y != largest.second) {
    u[y] = static_cast<float>(c * (std::exp(-distance) / s.z - 1.0));
  }
  const double complement = s.g * s.b / s.z;  // 1 - s_top
  u[largest.second] = static_cast<float>(c * (s.g / s.z - (y == largest.second ? 1.0 : 0.0)));
  u[largest.top] = static_cast<float>(y == largest.top ? -c * complement : c / s.z);
  return {.loss = c * (distance + std::log1p(s.g * s.b))};
}

}  // namespace

WideResult cross_entropy_wide(const WideRow& row, Probe probe, const Draws& draws, std::int64_t index) {
  return run(row, probe, draws, index);
}

}  // namespace lehi::kernels
