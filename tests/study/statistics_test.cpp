#include "study/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/support.h"

namespace lehi::study {
namespace {

using ::testing::HasSubstr;

constexpr double kDiverged = std::numeric_limits<double>::quiet_NaN();
// A few additions of numbers near 1 (near 100 for accuracies), compared with Python's exact sums.
constexpr double kRounding = 1e-12;

std::vector<nlohmann::json> metric_lines(const char* metric, const std::vector<double>& values) {
  std::vector<nlohmann::json> lines;
  for (const double value : values) {
    nlohmann::json line = {{"step", lines.size() + 1}};
    line[metric] = value;  // dump() writes NaN as null, as in a file
    lines.push_back(nlohmann::json::parse(line.dump()));
  }
  return lines;
}

// Expected values by Python's statistics.mean and statistics.stdev.
TEST(Statistics, WindowOfALossAddsTwoDeviations) {
  const auto lines = metric_lines("test_loss", {9.0, 5.0, 0.2421, 0.2450, 0.2510, 0.2388});
  const auto window = window_of(lines, "test_loss", 4);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->count, 4);
  EXPECT_NEAR(window->mean, 0.244225, kRounding);
  EXPECT_NEAR(window->two_std, 0.010356801307997229, kRounding);
  EXPECT_NEAR(window->score, 0.25458180130799724, kRounding);
}

TEST(Statistics, WindowOfAnAccuracySubtractsTwoDeviations) {
  const auto window = window_of(metric_lines("test_accuracy", {10.0, 97.1, 97.4, 97.3}), "test_accuracy", 3);
  ASSERT_TRUE(window);
  EXPECT_NEAR(window->mean, 97.26666666666667, 100 * kRounding);
  EXPECT_NEAR(window->two_std, 0.3055050463303999, 100 * kRounding);
  EXPECT_NEAR(window->score, 96.96116162033627, 100 * kRounding);
}

TEST(Statistics, WindowIsAtMostAsLongAsTheRunAndMayHaveOneEvaluation) {
  EXPECT_EQ(window_of(metric_lines("test_loss", {1.0, 3.0}), "test_loss", 10)->count, 2);
  const auto single = window_of(metric_lines("test_loss", {0.5}), "test_loss", 10);
  EXPECT_EQ(single->mean, 0.5);
  EXPECT_EQ(single->score, 0.5);
  EXPECT_TRUE(std::isnan(single->two_std));
}

TEST(Statistics, ThereIsNoWindowWithoutTheMetric) {
  EXPECT_FALSE(window_of(metric_lines("test_loss", {1.0}), "validation_loss", 1));
  EXPECT_FALSE(window_of({}, "test_loss", 1));
  auto lines = metric_lines("test_loss", {1.0, 2.0});
  lines[0]["test_loss"] = "low";
  EXPECT_FALSE(window_of(lines, "test_loss", 2));
}

TEST(Statistics, WindowWithANonFiniteValueIsNotFinite) {
  const auto window = window_of(metric_lines("test_loss", {1.0, kDiverged, 2.0}), "test_loss", 3);
  ASSERT_TRUE(window);
  EXPECT_TRUE(std::isnan(window->mean));
  EXPECT_TRUE(std::isnan(window->score));
}

TEST(Statistics, MeanAndDeviationOverSeeds) {
  const auto three = mean_and_std({0.2421, 0.2450, 0.2510});
  EXPECT_EQ(three.count, 3U);
  EXPECT_NEAR(three.mean, 0.2460333333333333, kRounding);
  EXPECT_NEAR(three.std, 0.0045390894828515235, kRounding);
  EXPECT_TRUE(std::isnan(mean_and_std({1.0}).std));
  EXPECT_EQ(mean_and_std({1.0}).mean, 1.0);
  EXPECT_TRUE(std::isnan(mean_and_std({1.0, kDiverged}).mean));
  EXPECT_TRUE(std::isnan(mean_and_std({}).mean));
}

TEST(Statistics, ADivergedSeedIsWorseThanAnyNumber) {
  EXPECT_TRUE(better("test_loss", 1e30, kDiverged));
  EXPECT_TRUE(better("test_accuracy", 0.0, kDiverged));
  EXPECT_FALSE(better("test_loss", kDiverged, 1.0));
  EXPECT_FALSE(better("test_loss", kDiverged, kDiverged));
  EXPECT_TRUE(better("test_loss", 1.0, 2.0));
  EXPECT_TRUE(better("test_accuracy", 2.0, 1.0));
  EXPECT_FALSE(better("test_accuracy", 1.0, 1.0));
  EXPECT_EQ(mean_with_worst("test_loss", {1.0, kDiverged}), std::numeric_limits<double>::infinity());
  EXPECT_EQ(mean_with_worst("test_accuracy", {1.0, kDiverged}), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(mean_with_worst("test_loss", {1.0, 2.0}), 1.5);
}

// Closed forms for one and two degrees of freedom; the others from the tables of NIST's Engineering Statistics
// Handbook, which have three decimals.
// By hand: 2 / 2^6; 2 (1 + 8) / 2^8; 2 (1 + 14 + 91) / 2^14.
TEST(Statistics, SignTest) {
  EXPECT_DOUBLE_EQ(sign_test(0, 0), 1.0);
  EXPECT_DOUBLE_EQ(sign_test(3, 3), 1.0);
  EXPECT_DOUBLE_EQ(sign_test(1, 0), 1.0);
  EXPECT_NEAR(sign_test(0, 6), 0.03125, 1e-14);
  EXPECT_NEAR(sign_test(7, 1), 0.0703125, 1e-14);
  EXPECT_NEAR(sign_test(2, 12), 0.012939453125, 1e-14);
}

TEST(Statistics, StudentsTAgreesWithClosedFormsAndPublishedTables) {
  EXPECT_NEAR(student_t(0.95, 1), 12.706204736174696, 1e-9);
  EXPECT_NEAR(student_t(0.95, 2), 4.302652729749463, 1e-10);
  EXPECT_NEAR(student_t(0.95, 3), 3.182, 5e-4);
  EXPECT_NEAR(student_t(0.95, 4), 2.776, 5e-4);
  EXPECT_NEAR(student_t(0.95, 9), 2.262, 5e-4);
  EXPECT_NEAR(student_t(0.95, 30), 2.042, 5e-4);
  EXPECT_NEAR(student_t(0.99, 5), 4.032, 5e-4);
  EXPECT_NEAR(student_t(0.95, 100000), 1.960, 5e-4);
  EXPECT_THAT(testing::message_of([] { student_t(0.95, 0); }), HasSubstr("degrees of freedom"));
  EXPECT_THAT(testing::message_of([] { student_t(1.0, 2); }), HasSubstr("confidence is 1"));
}

// Differences, mean, standard error and interval computed in Python with the closed form of t above.
TEST(Statistics, PairedDifferenceOfThreeSeeds) {
  const std::vector<SeedValue> ours = {{0, .2357}, {1, .2410}, {2, .2463}};
  const std::vector<SeedValue> adam = {{2, .2510}, {0, .2421}, {1, .2450}};  // the order of seeds does not matter
  const auto difference = paired_difference(ours, adam);
  EXPECT_EQ(difference.differences.size(), 3U);
  EXPECT_NEAR(difference.mean, -0.005033333333333344, kRounding);
  EXPECT_NEAR(difference.low, -0.008099340322953386, 1e-11);
  EXPECT_NEAR(difference.high, -0.001967326343713301, 1e-11);
  EXPECT_EQ(verdict("test_loss", difference), Verdict::better);
  EXPECT_EQ(verdict("test_accuracy", difference), Verdict::worse);
  EXPECT_EQ(verdict_text("test_loss", difference, "adam"), "better than adam with 3 seeds");
}

TEST(Statistics, AnIntervalThatIncludesZeroIsNoClearDifference) {
  const auto difference = paired_difference({{0, 97.46}, {1, 97.56}, {2, 97.44}}, {{0, 97.43}, {1, 97.27}, {2, 97.43}});
  EXPECT_NEAR(difference.low, -0.2780347151621401, 1e-9);
  EXPECT_NEAR(difference.high, 0.49803471516212955, 1e-9);
  EXPECT_EQ(verdict("test_accuracy", difference), Verdict::unclear);
  EXPECT_EQ(verdict_text("test_accuracy", difference, "adam"), "no clear difference from adam with 3 seeds");
}

TEST(Statistics, DivergedSeedsDecideTheVerdict) {
  const auto lost = paired_difference({{0, .1}, {1, kDiverged}, {2, .1}}, {{0, .2}, {1, .2}, {2, .3}});
  EXPECT_EQ(lost.diverged, 1U);
  EXPECT_EQ(lost.differences.size(), 2U);
  EXPECT_EQ(verdict("test_loss", lost), Verdict::worse);
  EXPECT_EQ(verdict_text("test_loss", lost, "adam"), "worse than adam: diverged on 1 of 3 seeds");
  const auto won = paired_difference({{0, .3}, {1, .3}}, {{0, kDiverged}, {1, .2}});
  EXPECT_EQ(verdict_text("test_loss", won, "adam"), "better than adam, which diverged on 1 of 2 seeds");
  const auto both = paired_difference({{0, kDiverged}, {1, .3}}, {{0, .1}, {1, kDiverged}});
  EXPECT_EQ(verdict("test_loss", both), Verdict::unknown);
  const auto same =
      paired_difference({{0, kDiverged}, {1, kDiverged}, {2, .3}}, {{0, kDiverged}, {1, kDiverged}, {2, kDiverged}});
  EXPECT_EQ(verdict_text("test_loss", same, "adam"), "diverged on 2, adam on 3, of 3 seeds");
}

TEST(Statistics, ThereIsNoVerdictWithOneSeedOrNone) {
  const auto one = paired_difference({{0, .1}, {1, .1}}, {{0, .2}});
  EXPECT_EQ(one.differences.size(), 1U);
  EXPECT_TRUE(std::isnan(one.low));
  EXPECT_EQ(verdict_text("test_loss", one, "adam"), "1 seed says nothing about the spread");
  EXPECT_EQ(verdict_text("test_loss", paired_difference({{0, 1.0}}, {{1, 1.0}}), "adam"),
            "no seed that adam finished with too");
}

}  // namespace
}  // namespace lehi::study
