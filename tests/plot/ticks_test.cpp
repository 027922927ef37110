#include "plot/ticks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lehi::plot {
namespace {

using Numbers = std::vector<double>;
using Labels = std::vector<std::string>;

Numbers values_of(const Ticks& ticks) {
  Numbers values;
  values.reserve(ticks.major.size());
  for (const auto& tick : ticks.major) values.push_back(tick.value);
  return values;
}

Labels labels_of(const Ticks& ticks) {
  Labels labels;
  labels.reserve(ticks.major.size());
  for (const auto& tick : ticks.major)
    labels.push_back(tick.superscript.empty() ? tick.label : tick.label + "^" + tick.superscript);
  return labels;
}

// Compared exactly: a tick, like a literal, is the double nearest to its decimal number.
TEST(Ticks, LinearByHand) {
  const auto tenths = make_ticks(false, 0.0, 1.0, 5);
  EXPECT_EQ(values_of(tenths), (Numbers{0, 0.2, 0.4, 0.6, 0.8, 1.0}));
  EXPECT_EQ(labels_of(tenths), (Labels{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(values_of(make_ticks(false, -3.0, 7.5, 5)), (Numbers{0, 5}));
  EXPECT_EQ(values_of(make_ticks(false, -0.3, 0.3, 3)), (Numbers{-0.2, 0, 0.2}));
  EXPECT_EQ(labels_of(make_ticks(false, -0.3, 0.3, 3)), (Labels{"−0.2", "0.0", "0.2"}));
  EXPECT_EQ(values_of(make_ticks(false, 0.0, 200.0, 4)), (Numbers{0, 50, 100, 150, 200}));
  EXPECT_EQ(values_of(make_ticks(false, 91.3, 98.2, 3)), (Numbers{95}));
  EXPECT_EQ(values_of(make_ticks(false, 91.3, 98.2, 4)), (Numbers{92, 94, 96, 98}));
  EXPECT_EQ(values_of(make_ticks(false, 0.241, 0.259, 4)), (Numbers{0.245, 0.25, 0.255}));
  EXPECT_EQ(labels_of(make_ticks(false, 0.241, 0.259, 4)), (Labels{"0.245", "0.250", "0.255"}));
}

TEST(Ticks, MinorTicksDivideTheStep) {
  EXPECT_EQ(make_ticks(false, 0.0, 10.0, 2).minor, (Numbers{1, 2, 3, 4, 6, 7, 8, 9}));
  EXPECT_EQ(make_ticks(false, 0.0, 4.0, 2).minor, (Numbers{0.5, 1, 1.5, 2.5, 3, 3.5}));
}

TEST(Ticks, VeryLargeAndVerySmallNumbersShareAPowerOfTen) {
  const auto large = make_ticks(false, 0.0, 3e6, 3);
  EXPECT_EQ(values_of(large), (Numbers{0, 1e6, 2e6, 3e6}));
  EXPECT_EQ(labels_of(large), (Labels{"0", "1", "2", "3"}));
  EXPECT_EQ(large.exponent, 6);
  const auto small = make_ticks(false, -1e-5, 2e-5, 3);
  EXPECT_EQ(labels_of(small), (Labels{"−1", "0", "1", "2"}));
  EXPECT_EQ(small.exponent, -5);
  EXPECT_EQ(make_ticks(false, 0.0, 50000.0, 5).exponent, 0);
}

TEST(Ticks, LogTicksAreDecades) {
  const auto rates = make_ticks(true, 1e-4, 1e-1, 6);
  EXPECT_EQ(values_of(rates), (Numbers{1e-4, 1e-3, 1e-2, 1e-1}));
  EXPECT_EQ(labels_of(rates), (Labels{"10^−4", "10^−3", "10^−2", "10^−1"}));
  ASSERT_EQ(rates.minor.size(), 24U);
  EXPECT_EQ(rates.minor[0], 2e-4);
  EXPECT_EQ(rates.minor[23], 9e-2);
  // Many decades: every fourth has a label.
  EXPECT_EQ(values_of(make_ticks(true, 1e-12, 2e5, 5)), (Numbers{1e-12, 1e-8, 1e-4, 1, 1e4}));
}

TEST(Ticks, BelowThreeDecadesTwosAndFivesHaveTicks) {
  EXPECT_EQ(values_of(make_ticks(true, 0.9, 12.0, 5)), (Numbers{1, 2, 5, 10}));
  EXPECT_EQ(labels_of(make_ticks(true, 0.009, 0.12, 5)), (Labels{"0.01", "0.02", "0.05", "0.1"}));
  EXPECT_EQ(labels_of(make_ticks(true, 1e-6, 1.2e-5, 5)), (Labels{"10^−6", "2×10^−6", "5×10^−6", "10^−5"}));
}

TEST(Ticks, AShortLogAxisHasLinearTicks) {
  EXPECT_EQ(values_of(make_ticks(true, 0.22, 0.45, 4)), (Numbers{0.3, 0.4}));
  EXPECT_EQ(values_of(make_ticks(true, 0.22, 0.29, 4)), (Numbers{0.22, 0.24, 0.26, 0.28}));
}

TEST(Ticks, AreWithinTheEndsAndSorted) {
  for (const double low : {-1e300, -7.3e5, -1.0, 0.0, 1e-300, 0.1 + 0.2, 1.0, 99999.5, 1e299}) {
    for (const double width : {1e-9, 1e-3, 1.0, 31.7, 1e12, 1e300}) {
      const double high = low + width * std::max(1.0, std::abs(low));
      if (!std::isfinite(high)) continue;
      const auto values = values_of(make_ticks(false, low, high, 5));
      EXPECT_LE(values.size(), 6U + 1U) << low << " to " << high;
      EXPECT_GE(values.size(), 1U) << low << " to " << high;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double rounding = 1e-8 * (high - low) + 1e-15 * std::abs(low);
        EXPECT_GE(values[i], low - rounding);
        EXPECT_LE(values[i], high + rounding);
        EXPECT_TRUE(i == 0 || values[i] > values[i - 1]);
      }
    }
  }
}

}  // namespace
}  // namespace lehi::plot
