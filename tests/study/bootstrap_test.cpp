#include "study/bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "study/statistics.h"
#include "support/support.h"

namespace lehi::study {
namespace {

// A few additions of numbers near 1 against exact fractions.
constexpr double kFractions = 1e-12;

// Expected values by Python: all n^n samples of itertools.product, means as fractions, counted from both ends.
TEST(Bootstrap, AgreesWithEveryResampleCounted) {
  struct Case {
    std::vector<double> values;
    double confidence, low, high;
  };
  const Case cases[] = {
      {{0.3, -0.1, 0.25, 0.7}, 0.95, 0.0, 0.5875},
      {{1, 2, 4, 8, 16}, 0.95, 2.0, 11.4},
      {{1, 2, 4, 8, 16}, 0.8, 3.0, 9.6},
      {{0.12, -0.3, 0.05, 0.4, 0.33, -0.02, 0.21}, 0.95, -0.05714285714285714, 0.26285714285714284},
      {{3, -5, 12, 40, -22, 7, 18, 9, -1, 30}, 0.95, -1.1, 19.5},
  };
  for (const auto& [values, confidence, low, high] : cases) {
    const auto interval = bootstrap_mean(values, confidence);
    EXPECT_NEAR(interval.low, low, kFractions) << values.size();
    EXPECT_NEAR(interval.high, high, kFractions) << values.size();
  }
}

// Why verdicts do not follow it: it can't be wider than the numbers themselves.
TEST(Bootstrap, OfThreeNumbersIsFromTheSmallestToTheLargest) {
  const auto interval = bootstrap_mean({-0.0064, -0.0040, -0.0047});
  EXPECT_EQ(interval.low, -0.0064);
  EXPECT_EQ(interval.high, -0.0040);
  const auto difference = paired_difference({{0, 97.46}, {1, 97.56}, {2, 97.44}}, {{0, 97.43}, {1, 97.27}, {2, 97.43}});
  EXPECT_NEAR(difference.bootstrap.low, 0.01, 1e-9);  // excludes 0
  EXPECT_NEAR(difference.bootstrap.high, 0.29, 1e-9);
  EXPECT_LT(difference.low, 0.0);  // includes 0
  EXPECT_EQ(verdict("test_accuracy", difference), Verdict::unclear);
}

TEST(Bootstrap, DoesNotDependOnOrderOrSign) {
  std::vector<double> values = {0.12, -0.3, 0.05, 0.4, 0.33, -0.02, 0.21};
  const auto interval = bootstrap_mean(values);
  std::reverse(values.begin(), values.end());
  EXPECT_EQ(bootstrap_mean(values).low, interval.low);
  EXPECT_EQ(bootstrap_mean(values).high, interval.high);
  for (double& value : values) value = -value;
  EXPECT_NEAR(bootstrap_mean(values).low, -interval.high, kFractions);
  EXPECT_NEAR(bootstrap_mean(values).high, -interval.low, kFractions);
}

// The exact interval is 1.5833 to 19.5 (Python, sums of 12 integers counted by convolution). The 2.5 % quantile of
// 10,000 draws from a distribution with deviation 4.58 has a standard error of 0.12; allowed are four of them.
TEST(Bootstrap, DrawsSamplesOfManyNumbersTheSameWayEveryTime) {
  const std::vector<double> values = {3, -5, 12, 40, -22, 7, 18, 9, -1, 30, 11, 25};
  const auto interval = bootstrap_mean(values);
  EXPECT_NEAR(interval.low, 1.5833, 0.5);
  EXPECT_NEAR(interval.high, 19.5, 0.5);
  EXPECT_EQ(bootstrap_mean(values).low, interval.low);
  EXPECT_EQ(bootstrap_mean(values).high, interval.high);
}

TEST(Bootstrap, OfEqualNumbersIsThatNumberAndOfOneNothing) {
  EXPECT_EQ(bootstrap_mean({0.5, 0.5, 0.5, 0.5}).low, 0.5);
  EXPECT_EQ(bootstrap_mean({0.5, 0.5, 0.5, 0.5}).high, 0.5);
  EXPECT_TRUE(std::isnan(bootstrap_mean({1.0}).low));
  EXPECT_TRUE(std::isnan(bootstrap_mean({}).high));
  EXPECT_TRUE(std::isnan(bootstrap_mean({1.0, NAN}).low));
  EXPECT_THAT(testing::message_of([] { bootstrap_mean({1.0, 2.0}, 1.0); }), ::testing::HasSubstr("confidence is 1"));
}

}  // namespace
}  // namespace lehi::study
