#include "study/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fake.h"

namespace lehi::study {
namespace {

using ::testing::ElementsAre;
using testing::fake_run;
using ::testing::HasSubstr;

/// A run with these last evaluations.
StudyRun run_with(double lr, std::uint64_t seed, const std::vector<double>& values) {
  auto run = fake_run("lehi", lr, seed, 1.0);
  run.windows["test_loss"] = window_over("test_loss", values);
  return run;
}

VariantRuns only_group(const std::vector<StudyRun>& runs) {
  const auto groups = group_runs(pointers_to(runs));
  EXPECT_EQ(groups.size(), 1U);
  return groups.front();
}

// Two seeds with opposite noise: each has a deviation, their mean has none. Computed by hand.
TEST(Selection, TheSeedAveragedCurveHasLessNoiseThanItsSeeds) {
  const std::vector<StudyRun> runs = {run_with(0.1, 0, {1.0, 3.0}), run_with(0.1, 1, {5.0, 3.0})};
  const auto group = only_group(runs);
  const auto window = seed_averaged(group.rates[0], "test_loss");
  ASSERT_TRUE(window);
  EXPECT_EQ(window->count, 2);
  EXPECT_EQ(window->mean, 3.0);  // of (1 + 5) / 2 and (3 + 3) / 2
  EXPECT_EQ(window->two_std, 0.0);
  EXPECT_EQ(window->score, 3.0);
  // Per seed: 2 + 2 sqrt(2) and 4 + 2 sqrt(2).
  EXPECT_NEAR(mean_score(group.rates[0], "test_loss"), 3.0 + 2.0 * std::sqrt(2.0), 1e-14);
}

TEST(Selection, TheSeedAveragedCurveCountsADivergedSeedAsWorstOrDropsIt) {
  std::vector<StudyRun> runs = {run_with(0.1, 0, {1.0, 3.0}), fake_run("lehi", 0.1, 1, NAN)};
  const auto group = only_group(runs);
  EXPECT_TRUE(std::isnan(seed_averaged(group.rates[0], "test_loss")->mean));
  EXPECT_EQ(seed_averaged(group.rates[0], "test_loss", Diverged::dropped)->mean, 2.0);
  runs[1] = run_with(0.1, 1, {1.0, 2.0, 3.0});
  EXPECT_FALSE(seed_averaged(only_group(runs).rates[0], "test_loss")) << "windows of different lengths";
  runs[1] = fake_run("lehi", 0.1, 1, 0.5);
  EXPECT_FALSE(seed_averaged(only_group(runs).rates[0], "test_loss")) << "a study of an earlier version";
  EXPECT_FALSE(seed_averaged(only_group(runs).rates[0], "validation_loss"));
  runs[0].status = runs[1].status = train::RunStatus::running;
  EXPECT_FALSE(seed_averaged(only_group(runs).rates[0], "test_loss"));
}

TEST(Selection, CanUseTheSeedAveragedCurve) {
  // 0.1 is noisy with each seed but not on average: 3.0 is better than 3.5, and 3 + 2 sqrt(2) is not.
  const std::vector<StudyRun> runs = {run_with(0.1, 0, {1.0, 3.0}), run_with(0.1, 1, {5.0, 3.0}),
                                      run_with(0.3, 0, {3.5, 3.5}), run_with(0.3, 1, {3.5, 3.5})};
  EXPECT_EQ(select_rate(only_group(runs), "test_loss")->lr, 0.3);
  const auto by_curve = select_rate(only_group(runs), "test_loss", ScoreOf::curve);
  EXPECT_EQ(by_curve->lr, 0.1);
  EXPECT_EQ(by_curve->score, 3.0);
  const std::vector<StudyRun> old = {fake_run("lehi", 0.1, 0, 0.5)};
  EXPECT_FALSE(select_rate(only_group(old), "test_loss", ScoreOf::curve));
}

// 0.03 is best with the first seed, 0.01 over all seeds; the other rates have one seed.
TEST(Selection, AfterTwoPhasesOnlyRatesWithAllSeedsCompete) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.003, 0, 0.9), fake_run("lehi", 0.1, 0, 0.8),
                                      fake_run("lehi", 0.01, 0, 0.31), fake_run("lehi", 0.03, 0, 0.30),
                                      fake_run("lehi", 0.01, 1, 0.3),  fake_run("lehi", 0.03, 1, 0.5),
                                      fake_run("lehi", 0.01, 2, 0.3),  fake_run("lehi", 0.03, 2, 0.5)};
  const auto group = only_group(runs);
  const auto best = select_rate(group, "test_loss");
  EXPECT_EQ(best->lr, 0.01);
  EXPECT_NEAR(best->score, 0.91 / 3 + 0.002, 1e-12);
  EXPECT_FALSE(best->at_edge) << "the grid is that of the first phase";
}

TEST(Selection, TheGridIncludesRatesWithOneSeed) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.01, 0, 0.5), fake_run("lehi", 0.03, 0, 0.4),
                                      fake_run("lehi", 0.1, 0, 0.3), fake_run("lehi", 0.03, 1, 0.4),
                                      fake_run("lehi", 0.1, 1, 0.3)};
  auto best = select_rate(only_group(runs), "test_loss");
  EXPECT_TRUE(best->at_edge);
  EXPECT_THAT(edge_warning(only_group(runs), *best, "test_loss"), HasSubstr("the largest rate of the grid"));
  auto others = runs;
  others.push_back(fake_run("lehi", 0.3, 0, 0.6));
  best = select_rate(only_group(others), "test_loss");
  EXPECT_EQ(best->lr, 0.1);
  EXPECT_FALSE(best->at_edge);
}

// A study of a bad rate with many seeds, merged with a two-phase study.
TEST(Selection, ManySeedsDoNotMakeABadRateGood) {
  std::vector<StudyRun> runs;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    runs.push_back(fake_run("lehi", 0.01, seed, 0.30));
    runs.push_back(fake_run("lehi", 0.03, seed, 0.29));
  }
  for (const std::uint64_t seed : {0, 5, 6, 7, 8, 9}) {
    runs.push_back(fake_run("lehi", 0.1, seed, 0.8));
    runs.push_back(fake_run("lehi", 0.2, seed, 0.7));
  }
  EXPECT_EQ(select_rate(only_group(runs), "test_loss")->lr, 0.03);
}

TEST(Selection, RatesWithoutACommonSeedAreComparedByTheirOwnSeeds) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.01, 0, 0.3), fake_run("lehi", 0.03, 1, 0.2),
                                      fake_run("lehi", 0.1, 2, 0.4), fake_run("lehi", 0.1, 3, 0.4)};
  EXPECT_EQ(select_rate(only_group(runs), "test_loss")->lr, 0.1) << "it has the most seeds";
  const std::vector<StudyRun> one_each = {runs[0], runs[1], runs[2]};
  EXPECT_EQ(select_rate(only_group(one_each), "test_loss")->lr, 0.03);
}

TEST(Selection, ARateThatDivergedInTheSecondPhaseLosesToOneWithFewerSeeds) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.01, 0, 0.4), fake_run("lehi", 0.03, 0, 0.3),
                                      fake_run("lehi", 0.03, 1, NAN)};
  EXPECT_EQ(select_rate(only_group(runs), "test_loss")->lr, 0.01);
}

TEST(Selection, RanksTheBestRates) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.003, 0, 0.5), fake_run("lehi", 0.01, 0, 0.2),
                                      fake_run("lehi", 0.03, 0, 0.2), fake_run("lehi", 0.1, 0, 0.1),
                                      fake_run("lehi", 0.3, 0, NAN)};
  const auto group = only_group(runs);
  EXPECT_THAT(best_rates(group, "test_loss", 3), ElementsAre(0.1, 0.01, 0.03));
  EXPECT_THAT(best_rates(group, "test_loss", 9), ElementsAre(0.1, 0.01, 0.03, 0.003))
      << "without the rate that diverged";
  EXPECT_THAT(best_rates(group, "test_loss", 0), ElementsAre());
}

TEST(Selection, PicksTheBestMeanScoreWithDivergedSeedsAsWorst) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.01, 0, 0.30), fake_run("lehi", 0.01, 1, 0.32),
                                      fake_run("lehi", 0.1, 0, 0.20),  fake_run("lehi", 0.1, 1, NAN),
                                      fake_run("lehi", 0.001, 0, 0.4), fake_run("lehi", 0.001, 1, 0.4)};
  const auto groups = group_runs(pointers_to(runs));
  ASSERT_EQ(groups.size(), 1U);
  ASSERT_EQ(groups[0].rates.size(), 3U);
  EXPECT_EQ(groups[0].rates[0].lr, 0.001);
  const auto best = select_rate(groups[0], "test_loss");
  ASSERT_TRUE(best);
  EXPECT_EQ(best->lr, 0.01);
  EXPECT_NEAR(best->score, 0.312, 1e-12);
  EXPECT_FALSE(best->at_edge);
  EXPECT_EQ(edge_warning(groups[0], *best, "test_loss"), "");
}

TEST(Selection, WarnsAtTheEdgeAndWhenEverythingDiverged) {
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.01, 0, 0.30), fake_run("lehi", 0.1, 0, 0.20),
                                      fake_run("adam", 0.01, 0, NAN), fake_run("adam", 0.1, 0, NAN)};
  const auto groups = group_runs(pointers_to(runs));
  const auto lehi = select_rate(groups[0], "test_loss");
  EXPECT_TRUE(lehi->at_edge);
  EXPECT_THAT(edge_warning(groups[0], *lehi, "test_loss"), HasSubstr("0.1, the largest rate"));
  const auto adam = select_rate(groups[1], "test_loss");
  EXPECT_THAT(edge_warning(groups[1], *adam, "test_loss"), HasSubstr("diverged at every rate"));
}

TEST(Selection, PrefersRatesThatAllSeedsFinishedAndTheSmallerOfEqualOnes) {
  auto late = fake_run("lehi", 0.1, 1, 0.1);
  late.status = train::RunStatus::interrupted;
  const std::vector<StudyRun> runs = {fake_run("lehi", 0.1, 0, 0.1),  late,
                                      fake_run("lehi", 0.01, 0, 0.3), fake_run("lehi", 0.01, 1, 0.3),
                                      fake_run("lehi", 0.03, 0, 0.3), fake_run("lehi", 0.03, 1, 0.3)};
  EXPECT_EQ(select_rate(group_runs(pointers_to(runs))[0], "test_loss")->lr, 0.01);
  const std::vector<StudyRun> none = {late};
  EXPECT_FALSE(select_rate(group_runs(pointers_to(none))[0], "test_loss"));
}

TEST(Selection, ChoosesOnValidationWhereItWasHeldOut) {
  const std::vector<StudyRun> held = {fake_run("lehi", 0.1, 0, 0.2, 0.3), fake_run("lehi", 0.1, 1, NAN)};
  EXPECT_EQ(selection_metric(pointers_to(held)), "validation_loss");
  EXPECT_EQ(reported_metric(pointers_to(held)), "test_loss");
  const std::vector<StudyRun> plain = {fake_run("lehi", 0.1, 0, 0.2)};
  EXPECT_EQ(selection_metric(pointers_to(plain)), "test_loss");
  auto judged = held;
  judged[0].metric = judged[1].metric = "validation_loss";  // as ptb is
  EXPECT_EQ(selection_metric(pointers_to(judged)), "validation_loss");
  EXPECT_EQ(reported_metric(pointers_to(judged)), "test_loss");
}

}  // namespace
}  // namespace lehi::study
