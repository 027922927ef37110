#include "kernels/cross_entropy_wide.h"

#include <array>
#include <cmath>
#include <tuple>

#include "kernels/largest_logits.h"
#include "kernels/row_blocks.h"
#include "kernels/vector_math.h"

namespace lehi::kernels {
namespace {

// h = exp(min(p - origin, 0) / 2).
LEHI_INLINE float root_of(float p, float half_origin) { return exp_of_nonpositive(0.5F * p - half_origin); }

// Softmax of a row, in the notation of the two headers.
struct Softmax {
  std::int64_t classes;
  double gap, gap3;    // p2 - m, p3 - p2
  double g, root_g;    // exp(gap) and its root
  double f3, root_f3;  // exp(gap3) and its root
  double rest, b, z;
};

LEHI_INLINE Softmax softmax_of(std::int64_t classes, const LargestLogits& largest, double sum_of_squares) {
  Softmax s;
  s.classes = classes;
  s.gap = static_cast<double>(largest.p2) - static_cast<double>(largest.m);
  s.gap3 = static_cast<double>(largest.p3) - static_cast<double>(largest.p2);
  s.g = std::exp(s.gap);
  s.root_g = std::exp(0.5 * s.gap);
  s.f3 = std::exp(s.gap3);
  s.root_f3 = std::exp(0.5 * s.gap3);
  s.rest = s.f3 * (sum_of_squares - 2.0);  // h = 1 of the two largest classes is in the sum
  s.b = 1.0 + s.rest;
  s.z = 1.0 + s.g * s.b;
  return s;
}

// Calls compute(h, u, v) for each h in the scratch buffer and writes u and, unless row.v is null, v. Before the
// call, v is 0.
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
    write_block(u, n, row.streaming, row.u + begin);
    if (row.v != nullptr) write_block(v, n, row.streaming, row.v + begin);
  };
  for_blocks(row.classes, part, floats_past_line(row.u));
}

// Stores every h in the scratch buffer; returns the sum of h^2.
LEHI_INLINE double store_roots(const WideRow& row, float origin) {
  const float half_origin = 0.5F * origin;
  const float* p = row.logits;
  float* roots = row.scratch;
  double squares = 0.0;
  const auto part = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) roots[i] = root_of(p[i], half_origin);
    squares += block_squares(roots + begin, end - begin);
  };
  for_blocks(row.classes, part);
  return squares;
}

// The same with a random sign for every h; `mix` becomes their sum.
LEHI_INLINE double store_signed_roots(const WideRow& row, float origin, const Draws& draws, std::int64_t index,
                                      double& mix) {
  constexpr std::int64_t word = 32;
  const float half_origin = 0.5F * origin;
  const float* p = row.logits;
  float* roots = row.scratch;
  double squares = 0.0;
  double sum = 0.0;
  SignWords words;
  std::array<std::uint32_t, block_size> minus;
  static_assert(std::tuple_size_v<SignWords> * word == block_size);
  const auto part = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    draws.sign_words(index, begin / block_size, words);
    for (std::size_t w = 0; w < words.size(); ++w) {
      for (std::uint32_t i = 0; i < word; ++i) minus[w * word + i] = ~words[w] << (word - 1 - i) & 0x80000000U;
    }
#pragma GCC ivdep
    for (std::int64_t i = begin; i < end; ++i) {
      const auto h = std::bit_cast<std::uint32_t>(root_of(p[i], half_origin));
      roots[i] = std::bit_cast<float>(h | minus[static_cast<std::size_t>(i - begin)]);
    }
    sum += block_sum(roots + begin, end - begin);
    squares += block_squares(roots + begin, end - begin);
  };
  for_blocks(row.classes, part);
  mix = sum;
  return squares;
}

// 1 / sqrt(1 - y) by a polynomial: a square root and a division would be most of the work. y is the probability of a
// class that is not among the two largest, so at most 1/3.
struct AnyProbability {  // Chebyshev polynomial of degree 7 in 6 y - 1; error at most 5e-9
  LEHI_INLINE static float inverse_root(float y) {
    const float t = 6.0F * y - 1.0F;
    const float t2 = t * t;
    const float first = (0.0027386658F * t + 0.0164318254F) * t2 + (0.1095445075F * t + 1.0954451103F);
    const float second = (0.0000031848383F * t + 0.0000169751081F) * t2 + (0.0000860770570F * t + 0.0004785200768F);
    return second * (t2 * t2) + first;
  }
};

struct SmallProbability {  // Taylor polynomial, for y < 1/64; error at most 2e-8
  static constexpr double bound = 1.0 / 64;
  LEHI_INLINE static float inverse_root(float y) { return ((0.3125F * y + 0.375F) * y + 0.5F) * y + 1.0F; }
};

// v_i = r_i - s_i (sum of r_k), r = sqrt(s / (1 - s)), from h in the scratch buffer. Returns false where float32 has
// too few digits because the logits are close to each other: ||v|| is below a sixth of ||r||. (Here the two largest
// classes count like the third; they do not affect that.)
template <class Polynomial>
LEHI_INLINE bool imitation(const WideRow& row, const Softmax& s, const LargestLogits& largest, double squares,
                           float u_scale) {
  const float* h = row.scratch;
  float* v = row.v;
  const auto third = static_cast<float>(s.g * s.f3 / s.z);  // probability of the third largest class
  double sum = 0.0;
  const auto add = [&](std::int64_t begin, std::int64_t end) __attribute__((always_inline)) {
    const std::int64_t quarter = (end - begin) / 4;
    const auto r = [=](std::int64_t i) __attribute__((always_inline)) {
      return h[i] * Polynomial::inverse_root(third * (h[i] * h[i]));
    };
    Block fours;  // all r are positive: adding four in float32 adds no more error than their own rounding
#pragma GCC ivdep
    for (std::int64_t i = 0; i < quarter; ++i) {
      const std::int64_t k = begin + i;
      fours[static_cast<std::size_t>(i)] = (r(k) + r(k + quarter)) + (r(k + 2 * quarter) + r(k + 3 * quarter));
    }
    sum += block_sum(fours.data(), quarter);
    for (std::int64_t i = begin + 4 * quarter; i < end; ++i) sum += static_cast<double>(r(i));
  };
  for_blocks(s.classes, add);
  const double unit = s.root_f3 / std::sqrt(s.z);  // r_i = unit * h_i * inverse_root()
  sum = unit * (sum - 2.0 * static_cast<double>(Polynomial::inverse_root(third)));

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
      const float r = root * Polynomial::inverse_root(third * square);
      const float difference = (r - shared * square) - shared_rest * square;
      some += difference * difference;
      own_u[static_cast<std::size_t>(i)] = u_scale * square;
      own_v[static_cast<std::size_t>(i)] = own * difference;
    }
    left += some;
    write_block(own_u, n, row.streaming, row.u + begin);
    write_block(own_v, n, row.streaming, v + begin);
  };
  for_blocks(s.classes, part, floats_past_line(row.u));
  if (36.0 * static_cast<double>(left) < squares) return false;
  const double top_and_second = s.rest * -std::expm1(s.gap) / (b2 * s.z * root_b * (b2 + root_b));
  v[largest.top] = static_cast<float>(-scale * (top_and_second + (sum - s.rest / root_b) / s.z));
  v[largest.second] = static_cast<float>(scale * (top_and_second - s.g * (sum - s.rest / b2) / s.z));
  return true;
}

// From the signed h in the scratch buffer; `mix` is their sum.
LEHI_INLINE void gauss_newton(const WideRow& row, const Softmax& s, const LargestLogits& largest, double mix,
                              float u_scale) {
  float* v = row.v;
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

LEHI_INLINE void diagonal(const WideRow& row, const Softmax& s, const LargestLogits& largest, float u_scale) {
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
  row.v[largest.top] = static_cast<float>(scale * std::sqrt(s.b));
  row.v[largest.second] = static_cast<float>(scale * std::sqrt(s.z - s.g));
}

LEHI_CLONES WideResult run(const WideRow& row, Probe probe, const Draws& draws, std::int64_t index) {
  const std::int64_t n = row.classes;
  const float* p = row.logits;
  const LargestLogits largest = largest_logits(p, n);
  if (!largest.finite) return {.finite = false};
  float* u = row.u;
  double mix = 0.0;
  double squares = 0.0;
  if (probe == Probe::gauss_newton) {
    squares = store_signed_roots(row, largest.p3, draws, index, mix);
  } else {
    squares = store_roots(row, largest.p3);
  }
  const Softmax s = softmax_of(n, largest, squares);
  const double c = row.weight;
  const auto u_scale = static_cast<float>(c * s.g * s.f3 / s.z);
  if (probe == Probe::imitation) {
    const bool precise = s.g * s.f3 / s.z < SmallProbability::bound
                             ? imitation<SmallProbability>(row, s, largest, squares, u_scale)
                             : imitation<AnyProbability>(row, s, largest, squares, u_scale);
    if (!precise) return {.precise = false};
  } else if (probe == Probe::gauss_newton) {
    gauss_newton(row, s, largest, mix, u_scale);
  } else if (probe == Probe::diagonal) {
    diagonal(row, s, largest, u_scale);
  } else {
    emit(
        row, [=](float root, float& own_u, float&) __attribute__((always_inline)) { own_u = u_scale * (root * root); });
  }

  // The classes computed in float64: the target class and the two largest.
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
