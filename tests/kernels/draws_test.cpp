// The generator against its published test vectors, and the distributions on top of it. The statistical tests use a
// bound of five standard deviations (two-sided level 6e-7) and fixed seeds.
#include "kernels/draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "kernels/philox.h"

namespace lehi::kernels {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Philox, KnownAnswersOfRandom123) {
  EXPECT_THAT(philox({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  EXPECT_THAT(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  EXPECT_THAT(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

RandomKey key_of(std::uint64_t seed, std::uint64_t step, std::uint64_t first_row = 0, std::uint32_t stream = 0) {
  return {seed, step, first_row, stream};
}

std::vector<double> signs_of(const RandomKey& key, std::int64_t row, std::int64_t classes, std::uint32_t sample = 0) {
  std::vector<double> signs(static_cast<std::size_t>(classes), 0.0);
  Draws(key).signs(row, classes, signs.data(), sample);
  return signs;
}

TEST(Draws, SignsAreTheBitsOfTheDocumentedBlock) {
  const std::uint64_t seed = 0x1122334455667788;
  const std::uint64_t step = 0x99aabbccddeeff00;
  const std::uint64_t row = 0x100000002;  // above 32 bits, so that the upper half matters
  const PhiloxBlock derived = philox({0xddeeff00, 0x99aabbcc, 7, 0}, {0x55667788, 0x11223344});
  const std::vector<double> signs = signs_of(key_of(seed, step, row - 1, 7), 1, 300);
  for (std::uint32_t i = 0; i < 300; ++i) {
    const PhiloxBlock words = philox({2, 1, i / 128, 1U << 24U}, {derived[0], derived[1]});
    const bool set = (words[i / 32 % 4] >> (i % 32) & 1U) != 0;
    ASSERT_EQ(signs[i], set ? 1.0 : -1.0) << "class " << i;
  }
}

TEST(Draws, SignWordsAreTheSigns) {
  const std::vector<double> signs = signs_of(key_of(3, 4, 100, 2), 5, 3000);
  SignWords words = {};
  for (std::size_t i = 0; i < signs.size(); ++i) {
    if (i % 1024 == 0) Draws(key_of(3, 4, 100, 2)).sign_words(5, static_cast<std::int64_t>(i / 1024), words);
    ASSERT_EQ((words[i / 32 % 32] >> (i % 32) & 1U) != 0 ? 1.0 : -1.0, signs[i]) << "class " << i;
  }
}

TEST(Draws, SixteenBitsAreTheHalvesOfTheDocumentedBlock) {
  const PhiloxBlock derived = philox({4, 0, 7, 0}, {3, 0});
  for (const std::int64_t group : {std::int64_t{0}, std::int64_t{5}, std::int64_t{0x200000001}}) {
    const PhiloxBlock words =
        philox({static_cast<std::uint32_t>(group), static_cast<std::uint32_t>(group >> 32), 0, 5U << 24U},
               {derived[0], derived[1]});
    const auto halves = Draws(key_of(3, 4, 0, 7)).sixteen_bits(group);
    for (std::size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(halves[i], words[i / 2] >> (16 * (i % 2)) & 0xffffU) << "weight " << i << " of group " << group;
    }
  }
}

TEST(Draws, OnlyTheGlobalRowCounts) {
  const Draws whole(key_of(3, 4));
  const Draws part(key_of(3, 4, 100));
  EXPECT_EQ(signs_of(key_of(3, 4), 105, 200), signs_of(key_of(3, 4, 100), 5, 200));
  EXPECT_EQ(whole.uniform(105, 2), part.uniform(5, 2));
  EXPECT_EQ(whole.normal(105, 2), part.normal(5, 2));
  for (const double rate : {0.5, 50.0, 1e9}) {
    EXPECT_EQ(whole.centred_poisson(105, 2, rate), part.centred_poisson(5, 2, rate));
  }
}

TEST(Draws, FewerClassesAreAPrefix) {
  const std::vector<double> many = signs_of(key_of(1, 1), 0, 1000);
  const std::vector<double> few = signs_of(key_of(1, 1), 0, 130);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(Draws, SeedStepStreamRowOutputAndSampleAllMatter) {
  std::set<double> uniforms;
  for (const RandomKey& key : {key_of(0, 0), key_of(1, 0), key_of(0, 1), key_of(0, 0, 0, 1), key_of(1ULL << 32U, 0),
                               key_of(0, 1ULL << 32U), key_of(0, 0, 1ULL << 32U)}) {
    for (std::int64_t row : {0, 1}) {
      for (std::int64_t output : {0, 1}) uniforms.insert(Draws(key).uniform(row, output));
    }
  }
  EXPECT_EQ(uniforms.size(), 28U);
  EXPECT_NE(signs_of(key_of(0, 0), 0, 128, 0), signs_of(key_of(0, 0), 0, 128, 1));
}

// |mean - expected| and |second moment - expected| within five standard deviations of their estimates.
template <class Draw>
void expect_moments(Draw draw, double mean, double variance, double fourth_central, std::int64_t count) {
  double sum = 0.0;
  double square = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = draw(i) - mean;
    sum += x;
    square += x * x;
  }
  const auto n = static_cast<double>(count);
  EXPECT_LT(std::abs(sum / n), 5.0 * std::sqrt(variance / n));
  EXPECT_LT(std::abs(square / n - variance), 5.0 * std::sqrt((fourth_central - variance * variance) / n));
}

TEST(Draws, SignsAreBalancedAndUncorrelated) {
  constexpr std::int64_t rows = 20000;
  std::vector<double> sum(130, 0.0);
  std::vector<double> with_next(130, 0.0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<double> signs = signs_of(key_of(9, 9), row, 131);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += signs[i];
      with_next[i] += signs[i] * signs[i + 1];
    }
  }
  const double bound = 5.0 * std::sqrt(static_cast<double>(rows));
  EXPECT_THAT(sum, Each(::testing::AllOf(::testing::Gt(-bound), ::testing::Lt(bound))));
  EXPECT_THAT(with_next, Each(::testing::AllOf(::testing::Gt(-bound), ::testing::Lt(bound))));
}

TEST(Draws, UniformHasUniformMomentsAndRange) {
  const Draws draws(key_of(1, 2));
  for (std::int64_t i = 0; i < 100000; ++i) {
    const double x = draws.uniform(i, 0);
    ASSERT_GE(x, 0.0);
    ASSERT_LT(x, 1.0);
  }
  expect_moments([&](std::int64_t i) { return draws.uniform(i, 0); }, 0.5, 1.0 / 12, 1.0 / 80, 100000);
}

TEST(Draws, NormalHasNormalMoments) {
  const Draws draws(key_of(5, 6));
  expect_moments([&](std::int64_t i) { return draws.normal(i, 1); }, 0.0, 1.0, 3.0, 200000);
}

TEST(Draws, NormalFollowsItsDistributionFunction) {
  const Draws draws(key_of(7, 8));
  constexpr std::int64_t count = 100000;
  for (const double x : {-2.0, -1.0, -0.3, 0.0, 0.5, 1.5, 2.5}) {
    std::int64_t below = 0;
    for (std::int64_t i = 0; i < count; ++i) below += draws.normal(i, 0) < x ? 1 : 0;
    const double p = 0.5 * std::erfc(-x / std::sqrt(2.0));
    EXPECT_NEAR(static_cast<double>(below) / count, p, 5.0 * std::sqrt(p * (1.0 - p) / count)) << x;
  }
}

// Three algorithms: for rates below 10, up to 1e8, and above.
TEST(Draws, PoissonHasPoissonMoments) {
  const Draws draws(key_of(11, 12));
  for (const double rate : {0.01, 0.7, 4.0, 9.99, 10.0, 37.5, 400.0, 1e6, 1e12}) {
    SCOPED_TRACE(rate);
    expect_moments([&](std::int64_t i) { return draws.centred_poisson(i, 0, rate); }, 0.0, rate,
                   rate * (1.0 + 3.0 * rate), 100000);
  }
}

TEST(Draws, PoissonHasPoissonFrequencies) {
  const Draws draws(key_of(13, 14));
  constexpr std::int64_t count = 100000;
  for (const double rate : {0.01, 0.7, 4.0, 9.99, 10.0, 37.5, 400.0}) {
    std::vector<double> seen(static_cast<std::size_t>(rate + 20.0 * std::sqrt(rate) + 50.0), 0.0);
    for (std::int64_t i = 0; i < count; ++i) {
      const double y = draws.centred_poisson(i, 0, rate) + rate;
      ASSERT_NEAR(y, std::round(y), 1e-9 * (1.0 + rate));
      seen.at(static_cast<std::size_t>(std::round(y))) += 1.0;
    }
    for (std::size_t y = 0; y < seen.size(); ++y) {
      const auto k = static_cast<double>(y);
      const double p = std::exp(k * std::log(rate) - rate - std::lgamma(k + 1.0));
      if (p * count < 20.0) continue;  // too few for the normal limit of the count
      EXPECT_NEAR(seen[y] / count, p, 5.0 * std::sqrt(p * (1.0 - p) / count)) << "rate " << rate << " value " << y;
    }
  }
}

TEST(Draws, PoissonOfRateZeroIsZero) { EXPECT_EQ(Draws(key_of(0, 0)).centred_poisson(0, 0, 0.0), 0.0); }

}  // namespace
}  // namespace lehi::kernels
