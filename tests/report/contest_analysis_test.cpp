#include "report/contest_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/contest_example.h"
#include "report/contest_power.h"

namespace lehi::report {
namespace {

using study::Verdict;
using testing::contest_arm;
using testing::contest_control;
using testing::contest_result;
using testing::contest_task;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The expected numbers are scipy 1.17's (stats.t, stats.nct, stats.chi with integrate.quad for two pairs), printed with
// all digits; Boost and scipy agree to about 1e-12.
constexpr double kSpecialFunctions = 1e-9;

const std::vector<double> kron_losses = {1.283, 1.275, 1.290, 1.279};
const std::vector<double> muon_losses = {1.280, 1.281, 1.287, 1.280};
const std::vector<double> adamw_losses = {1.777, 1.755, 1.769, 1.781};

std::vector<std::string> names_in_order(const TaskAnalysis& task) {
  std::vector<std::string> names;
  for (const auto& arm : task.arms) names.push_back(arm.arm->arm);
  return names;
}

TEST(ContestPower, AgreesWithScipysNoncentralT) {
  EXPECT_NEAR(paired_power(2, 1.0), 0.09280915505633605, kSpecialFunctions);
  EXPECT_NEAR(paired_power(8, 0.5), 0.2320770046389916, kSpecialFunctions);
  EXPECT_NEAR(paired_power(8, -1.0), 0.6808339582062666, kSpecialFunctions);
  EXPECT_NEAR(paired_power(20, 0.7), 0.843505876433301, kSpecialFunctions);
  EXPECT_NEAR(paired_power(3, 4.0), 0.9084887436810317, kSpecialFunctions);
  EXPECT_DOUBLE_EQ(paired_power(8, 0.0), 0.05);
  EXPECT_DOUBLE_EQ(paired_power(8, INFINITY), 1.0);
  EXPECT_TRUE(std::isnan(paired_power(8, NAN)));
}

// 199, 34 and 15 are also in the usual tables for Cohen's small, medium and large effect.
TEST(ContestPower, PairsNeededForTheUsualEffects) {
  EXPECT_EQ(pairs_needed(0.2), 199);
  EXPECT_EQ(pairs_needed(0.5), 34);
  EXPECT_EQ(pairs_needed(0.5, 0.9), 44);
  EXPECT_EQ(pairs_needed(-0.8), 15);
  EXPECT_EQ(pairs_needed(1.0), 10);
  EXPECT_EQ(pairs_needed(5.0), 3);
  EXPECT_EQ(pairs_needed(1e-4), std::nullopt);
  EXPECT_EQ(pairs_needed(0.0), std::nullopt);
}

TEST(ContestPower, DetectableSizes) {
  EXPECT_NEAR(detectable_size(2), 11.549888435882378, 1e-6);  // by numerical integration
  EXPECT_NEAR(detectable_size(4), 2.1279493432578005, kSpecialFunctions);
  EXPECT_NEAR(detectable_size(8), 1.1560346779947333, kSpecialFunctions);
  EXPECT_NEAR(detectable_size(18), 0.7007225007954726, kSpecialFunctions);
  EXPECT_NEAR(detectable_size(21), 0.6427535327558961, kSpecialFunctions);
}

TEST(ContestPower, RefusesWhatHasNoPower) {
  EXPECT_THROW(paired_power(1, 1.0), std::invalid_argument);
  EXPECT_THROW(pairs_needed(1.0, 1.0), std::invalid_argument);
  EXPECT_THROW(detectable_size(8, 0.05), std::invalid_argument);
}

TEST(ContestAnalysis, MeansIntervalsAndDifferences) {
  auto task = contest_task("gpt", {contest_arm("adamw", adamw_losses), contest_arm("lehi-kron", kron_losses),
                                   contest_arm("muon", muon_losses)});
  task.effect = 0.01;
  const auto analysis = analyse(task, "lehi-kron");
  EXPECT_THAT(names_in_order(analysis), ElementsAre("lehi-kron", "muon", "adamw"));
  const auto& kron = analysis.arms[0];
  EXPECT_NEAR(kron.mean, 1.28175, 1e-12);
  EXPECT_NEAR(kron.std, 0.0063966136874652165, 1e-12);
  EXPECT_NEAR(kron.low, 1.2715715602019995, kSpecialFunctions);
  EXPECT_NEAR(kron.high, 1.2919284397980004, kSpecialFunctions);
  EXPECT_NEAR(kron.from_baseline.mean, -0.48875, 1e-12);
  EXPECT_NEAR(kron.from_baseline.low, -0.5065344845561465, kSpecialFunctions);
  EXPECT_NEAR(kron.from_baseline.high, -0.4709655154438535, kSpecialFunctions);
  EXPECT_EQ(kron.against_baseline, Verdict::better);
  const auto& muon = analysis.arms[1];
  EXPECT_NEAR(muon.challenger.mean, -0.00025, 1e-12);
  EXPECT_NEAR(muon.challenger.low, -0.007047708287904029, kSpecialFunctions);
  EXPECT_EQ(muon.challenger_against, Verdict::unclear);
  ASSERT_TRUE(analysis.winner);
  EXPECT_THAT(analysis.winner->level, ElementsAre(1));
  EXPECT_THAT(analysis.winner->beaten, ElementsAre(2));
  // The median of two spreads; 1 % of adamw's mean, 1.7705, is 1.4853 of it, for which scipy's power passes 0.8 at 6.
  ASSERT_TRUE(analysis.power);
  EXPECT_EQ(analysis.power->seeds, 4);
  EXPECT_NEAR(analysis.power->spread, (0.011176612486199368 + 0.012662279942148337) / 2, 1e-12);
  EXPECT_NEAR(analysis.power->detectable, 2.1279493432578005 * analysis.power->spread, 1e-9);
  EXPECT_NEAR(analysis.power->effect, 0.017705, 1e-12);
  EXPECT_EQ(analysis.power->needed, 6);
}

TEST(ContestAnalysis, LargerAccuracyIsBetter) {
  auto task =
      contest_task("mnist", {contest_arm("adamw", {97.0, 97.2, 97.1}), contest_arm("lion", {98.0, 98.2, 98.2})});
  task.metric = "test_accuracy";
  const auto analysis = analyse(task, "lehi-kron");
  EXPECT_THAT(names_in_order(analysis), ElementsAre("lion", "adamw"));
  EXPECT_EQ(analysis.arms[0].against_baseline, Verdict::better);
  EXPECT_FALSE(analysis.challenger);
}

TEST(ContestAnalysis, DivergedAndMissingArmsComeLastAndControlsCannotWin) {
  const auto task = contest_task(
      "gpt", {contest_arm("sgd", {}), contest_arm("adam", {1.2, NAN, 1.2}), contest_arm("adamw", {1.5, 1.6, 1.7}),
              contest_control("random", {1.1, 1.1, 1.1}), contest_arm("lion", {NAN, NAN, 1.0})});
  const auto analysis = analyse(task, "lehi-kron");
  EXPECT_THAT(names_in_order(analysis), ElementsAre("random", "adamw", "adam", "lion", "sgd"));
  ASSERT_TRUE(analysis.winner);
  EXPECT_EQ(analysis.arms[analysis.winner->arm].arm->arm, "adamw");
  EXPECT_THAT(analysis.winner->level, ElementsAre(2, 3)) << "one or two diverged seeds of three show nothing";
  EXPECT_THAT(analysis.winner->unknown, ElementsAre(4));
  EXPECT_TRUE(std::isnan(analysis.arms[2].mean));
  EXPECT_EQ(analysis.arms[3].diverged, 2);
}

TEST(ContestAnalysis, TiesAreLevel) {
  const auto task =
      contest_task("gpt", {contest_arm("adamw", {1.5, 1.6, 1.7}), contest_arm("lehi-kron", {1.5, 1.6, 1.7})});
  const auto analysis = analyse(task, "lehi-kron");
  ASSERT_TRUE(analysis.winner);
  EXPECT_THAT(names_in_order(analysis), ElementsAre("adamw", "lehi-kron"));  // the file's order
  EXPECT_THAT(analysis.winner->level, ElementsAre(1));
  ASSERT_TRUE(analysis.power);
  EXPECT_EQ(analysis.power->detectable, 0.0);
}

TEST(ContestAnalysis, TheBaselineHasNoDifferenceFromItself) {
  const auto task = contest_task("gpt", {contest_arm("adamw", {1.5, 1.6}), contest_arm("lehi-kron", {1.4, 1.3})});
  const auto analysis = analyse(task, "lehi-kron");
  EXPECT_TRUE(std::isnan(analysis.find("adamw")->from_baseline.mean));
  EXPECT_TRUE(std::isnan(analysis.find("lehi-kron")->challenger.low));
}

TEST(ContestAnalysis, OneSeedHasNoSpread) {
  const auto task = contest_task("gpt", {contest_arm("adamw", {1.5}), contest_arm("lehi-kron", {1.4})});
  const auto analysis = analyse(task, "lehi-kron");
  EXPECT_TRUE(std::isnan(analysis.arms[0].low));
  ASSERT_TRUE(analysis.winner);
  EXPECT_THAT(analysis.winner->unknown, ElementsAre(1));
  EXPECT_FALSE(analysis.power);
}

TEST(ContestAnalysis, StatesOfTheSpeedUp) {
  auto arm = contest_arm("lehi-kron", {1.4});
  EXPECT_EQ(speed_up_state(arm), SpeedUpState::not_measured);
  arm.speed_up = contest::SpeedUp();
  EXPECT_EQ(speed_up_state(arm), SpeedUpState::not_measured);
  arm.speed_up->points = {{.fraction = 0.5, .values = arm.values}};
  EXPECT_EQ(speed_up_state(arm), SpeedUpState::unfinished);
  arm.speed_up->points.push_back({.fraction = 1.0, .values = {}});
  EXPECT_EQ(speed_up_state(arm), SpeedUpState::unfinished);
  arm.speed_up->points.back().values = arm.values;
  EXPECT_EQ(speed_up_state(arm), SpeedUpState::not_reached);
  arm.speed_up->steps_fraction = 1.0;
  EXPECT_EQ(speed_up_state(arm), SpeedUpState::reached);
}

contest::TaskResult panel_task(std::int64_t batch_size, const std::vector<double>& advantages) {
  std::vector<double> losses;
  for (const double advantage : advantages) losses.push_back(2.0 - advantage);
  auto task =
      contest_task("batch-" + std::to_string(batch_size),
                   {contest_arm("adamw", std::vector<double>(advantages.size(), 2.0)), contest_arm("lehi-kron", losses),
                    contest_control("random", std::vector<double>(advantages.size(), 1.99))});
  task.group = "batches";
  task.batch_size = batch_size;
  return task;
}

// Least squares over log2 of the batch size gives 0.01, 0.01 and 0.0025 for the three seeds (by hand: the first and
// last value differ by 0.04, 0.04 and 0.01 over four doublings); t of two degrees of freedom at 97.5 % is 4.302652730.
TEST(ContestPanel, AdvantageAndItsSlopeByBatchSize) {
  const auto result = contest_result(
      {panel_task(256, {0.05, 0.04, 0.03}), panel_task(16, {0.01, 0.00, 0.02}), panel_task(64, {0.02, 0.03, 0.02})});
  const auto panels = batch_panels(result);
  ASSERT_EQ(panels.size(), 1);
  ASSERT_EQ(panels[0].lines.size(), 2);
  const auto& line = panels[0].lines[0];
  EXPECT_EQ(line.arm->arm, "lehi-kron");
  ASSERT_EQ(line.points.size(), 3);
  EXPECT_EQ(line.points[0].batch_size, 16);
  EXPECT_NEAR(line.points[0].mean, 0.01, 1e-12);
  EXPECT_NEAR(line.points[0].low, -0.014841377117503303, kSpecialFunctions);
  EXPECT_NEAR(line.points[0].high, 0.034841377117503305, kSpecialFunctions);
  EXPECT_EQ(line.points[2].batch_size, 256);
  EXPECT_NEAR(line.slope, 0.0075, 1e-12);
  const double half = 4.302652730 * 0.0025;  // the standard error is 0.0075 / sqrt(3) / sqrt(3)
  EXPECT_NEAR(line.slope_low, 0.0075 - half, 1e-9);
  EXPECT_NEAR(line.slope_high, 0.0075 + half, 1e-9);
  const auto control = panel_against(panels[0], "random");
  EXPECT_EQ(control.lines[0].arm->arm, "adamw");
  EXPECT_EQ(control.lines[1].arm->arm, "lehi-kron");
  EXPECT_NEAR(control.lines[1].points[0].mean, 0.0, 1e-12);  // 0.01 less than over adamw
  EXPECT_NEAR(control.lines[1].slope, 0.0075, 1e-12);
}

TEST(ContestPanel, LeavesOutOneTaskAloneAndPointsWithDivergedSeeds) {
  EXPECT_THAT(batch_panels(contest_result({panel_task(16, {0.1})})), IsEmpty());
  const auto result = contest_result({panel_task(16, {0.1, 0.1}), panel_task(32, {0.1, NAN})});
  const auto panels = batch_panels(result);
  ASSERT_EQ(panels.size(), 1);
  const auto& line = panels[0].lines[0];
  EXPECT_NEAR(line.points[0].mean, 0.1, 1e-12);
  EXPECT_TRUE(std::isnan(line.points[1].mean));
  EXPECT_TRUE(std::isnan(line.slope));  // one seed has both
}

}  // namespace
}  // namespace lehi::report
