#include "kernels/draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <tuple>

#include "kernels/vector_math.h"

namespace lehi::kernels {
namespace {

constexpr std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32U); }

PhiloxKey derived_key(const RandomKey& key) {
  const PhiloxBlock block = philox({low(key.step), high(key.step), key.stream, 0}, {low(key.seed), high(key.seed)});
  return {block[0], block[1]};
}

// 53 of the 64 bits of words 2k and 2k + 1, as a number in [0, 1).
double unit(const PhiloxBlock& block, std::size_t k) {
  const std::uint64_t bits = (std::uint64_t{block[2 * k]} << 32U | block[2 * k + 1]) >> 11U;
  return static_cast<double>(bits) * 0x1p-53;
}

// philox() of eight counters that differ in word 2, in one loop that vectorises.
LEHI_CLONES void philox_blocks(const PhiloxBlock& first, PhiloxKey key, SignWords& words) {
  constexpr std::size_t blocks = std::tuple_size_v<SignWords> / 4;
  std::array<std::uint64_t, blocks> a;
  std::array<std::uint64_t, blocks> b;
  std::array<std::uint64_t, blocks> c;
  std::array<std::uint64_t, blocks> d;
  for (std::size_t i = 0; i < blocks; ++i) {
    a[i] = first[0];
    b[i] = first[1];
    c[i] = first[2] + static_cast<std::uint32_t>(i);
    d[i] = first[3];
  }
  for (int round = 0; round < philox_round_count; ++round) {
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::uint64_t product0 = philox_multiplier0 * static_cast<std::uint32_t>(a[i]);
      const std::uint64_t product1 = philox_multiplier1 * static_cast<std::uint32_t>(c[i]);
      a[i] = product1 >> 32U ^ b[i] ^ key[0];
      b[i] = product1 & 0xffffffffU;
      c[i] = product0 >> 32U ^ d[i] ^ key[1];
      d[i] = product0 & 0xffffffffU;
    }
    key = next_key(key);
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    words[4 * i] = low(a[i]);
    words[4 * i + 1] = low(b[i]);
    words[4 * i + 2] = low(c[i]);
    words[4 * i + 3] = low(d[i]);
  }
}

// The four signs of each four bits. A table is several times faster than testing each bit.
constexpr auto signs_of_bits = [] {
  std::array<std::array<double, 4>, 16> table = {};
  for (unsigned bits = 0; bits < 16; ++bits) {
    for (unsigned i = 0; i < 4; ++i) table[bits][i] = (bits >> i & 1U) != 0 ? 1.0 : -1.0;
  }
  return table;
}();

// log k! for integer k >= 0: a table, and from k = 10 on Stirling's series, whose first omitted term is below 2e-11.
double log_factorial(double k) {
  static const std::array<double, 10> table = [] {
    std::array<double, 10> t = {};
    for (std::size_t i = 1; i < t.size(); ++i) t[i] = t[i - 1] + std::log(static_cast<double>(i));
    return t;
  }();
  if (k < 10) return table[static_cast<std::size_t>(k)];
  const double x = 1.0 / k;
  const double series = x * (1.0 / 12 - x * x * (1.0 / 360 - x * x * (1.0 / 1260 - x * x / 1680)));
  return (k + 0.5) * std::log(k) - k + 0.5 * std::log(2 * std::numbers::pi) + series;
}

double poisson_by_inversion(double rate, double uniform) {
  double probability = std::exp(-rate);
  double y = 0;
  // The bound ends the search if rounding keeps the sum of probabilities below `uniform`; P(y > 100) < 1e-60.
  while (uniform >= probability && y < 100) {
    uniform -= probability;
    y += 1;
    probability *= rate / y;
  }
  return y;
}

}  // namespace

Draws::Draws(const RandomKey& key) : key_(derived_key(key)), first_row_(key.first_row) {}

PhiloxBlock Draws::counter_of(Purpose purpose, std::int64_t row, std::int64_t index, std::uint32_t attempt) const {
  const std::uint64_t global = first_row_ + static_cast<std::uint64_t>(row);
  return {low(global), high(global), static_cast<std::uint32_t>(index),
          static_cast<std::uint32_t>(purpose) << 24U | attempt};
}

PhiloxBlock Draws::block(Purpose purpose, std::int64_t row, std::int64_t index, std::uint32_t attempt) const {
  return philox(counter_of(purpose, row, index, attempt), key_);
}

void Draws::sign_words(std::int64_t row, std::int64_t index, SignWords& words) const {
  constexpr std::size_t blocks = std::tuple_size_v<SignWords> / 4;
  const PhiloxBlock first = counter_of(Purpose::sign, row, index * static_cast<std::int64_t>(blocks), 0);
  philox_blocks(first, key_, words);
}

void Draws::signs(std::int64_t row, std::int64_t classes, double* signs, std::uint32_t sample) const {
  PhiloxBlock words = {};
  for (std::int64_t i = 0; i < classes; i += 4) {
    if (i % 128 == 0) words = block(Purpose::sign, row, i / 128, sample);
    const auto& four =
        signs_of_bits[words[static_cast<std::size_t>(i / 32 % 4)] >> static_cast<unsigned>(i % 32) & 15U];
    if (classes - i >= 4) {
      std::copy_n(four.begin(), 4, signs + i);
    } else {
      std::copy_n(four.begin(), classes - i, signs + i);
    }
  }
}

double Draws::uniform(std::int64_t row, std::int64_t output) const {
  return unit(block(Purpose::uniform, row, output, 0), 0);
}

double Draws::normal(std::int64_t row, std::int64_t output) const {
  const PhiloxBlock words = block(Purpose::normal, row, output, 0);
  return std::sqrt(-2.0 * std::log1p(-unit(words, 0))) * std::cos(2.0 * std::numbers::pi * unit(words, 1));
}

std::array<std::uint16_t, 8> Draws::sixteen_bits(std::int64_t group) const {
  const PhiloxBlock words = block(Purpose::rounding, group, 0, 0);
  std::array<std::uint16_t, 8> halves = {};
  for (std::size_t i = 0; i < words.size(); ++i) {
    halves[2 * i] = static_cast<std::uint16_t>(words[i]);
    halves[2 * i + 1] = static_cast<std::uint16_t>(words[i] >> 16U);
  }
  return halves;
}

double Draws::centred_poisson(std::int64_t row, std::int64_t output, double rate) const {
  if (rate >= 1e8) return std::sqrt(rate) * normal(row, output);
  if (rate < 10) return poisson_by_inversion(rate, unit(block(Purpose::poisson, row, output, 0), 0)) - rate;
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double v_r = 0.9277 - 3.6224 / (b - 2.0);
  for (std::uint32_t attempt = 0;; ++attempt) {
    const PhiloxBlock words = block(Purpose::poisson, row, output, attempt);
    const double u = unit(words, 0) - 0.5;
    const double v = unit(words, 1);
    const double us = 0.5 - std::abs(u);
    const double y = std::floor((2.0 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return y - rate;
    if (y < 0.0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= y * log_rate - rate - log_factorial(y)) return y - rate;
  }
}

}  // namespace lehi::kernels
