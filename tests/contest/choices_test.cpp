#include "contest/choices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "contest/contest_file.h"
#include "contest/example.h"
#include "contest/plan.h"
#include "support/support.h"

namespace lehi::contest {
namespace {

using ::testing::ElementsAre;

std::vector<Trial> trials_of(const std::vector<double>& values) {
  std::vector<Trial> trials;
  for (const double value : values) trials.push_back({.lr = 1.0, .knob = "", .value = value});
  return trials;
}

TEST(BestTrial, TheFirstOfEqualOnesAndNeverOneThatDiverged) {
  EXPECT_EQ(best_trial(trials_of({3.0, 1.0, 2.0}), "test_loss"), 1U);
  EXPECT_EQ(best_trial(trials_of({3.0, 1.0, 2.0}), "test_accuracy"), 0U);
  EXPECT_EQ(best_trial(trials_of({2.0, 1.0, 1.0}), "test_loss"), 1U);
  EXPECT_EQ(best_trial(trials_of({NAN, NAN, 9.0}), "test_loss"), 2U);
  EXPECT_EQ(best_trial(trials_of({NAN, -9.0, NAN}), "test_accuracy"), 1U);
  EXPECT_EQ(best_trial(trials_of({NAN, NAN}), "test_loss"), 0U);
}

TEST(StepTimes, RatiosAreTakenWithinARound) {
  // The machine is three times as slow in the second round; the ratios are 2, 2, 4.
  const auto time = step_time({2.0, 6.0, 4.0}, {1.0, 3.0, 1.0});
  ASSERT_TRUE(time);
  EXPECT_EQ(time->ratio, 2.0);
  EXPECT_EQ(time->low, 2.0);
  EXPECT_EQ(time->high, 4.0);
  EXPECT_EQ(time->seconds, 4.0);
  EXPECT_EQ(step_time({1.0, 3.0}, {1.0, 1.0})->ratio, 2.0) << "the mean of the middle two";
}

TEST(StepTimes, RoundsWithoutATimeAreLeftOut) {
  EXPECT_EQ(step_time({NAN, 3.0, 5.0}, {1.0, 1.0, 0.0})->ratio, 3.0);
  EXPECT_FALSE(step_time({NAN, 3.0}, {1.0, NAN}));
  EXPECT_FALSE(step_time({}, {}));
}

TEST(EqualTime, AnOptimizerWithTwiceTheStepTimeHasHalfOfTheSteps) {
  EXPECT_EQ(equal_time_steps(400, 1.0), 400);
  EXPECT_EQ(equal_time_steps(400, 2.0), 200);
  EXPECT_EQ(equal_time_steps(400, 1.3), 308);  // 307.69
  EXPECT_EQ(equal_time_steps(400, 0.8), 500);
  EXPECT_EQ(equal_time_steps(20, 1000.0), 1);
}

// Every threshold, so that the smallest fraction that reaches the target is any of them, or none.
TEST(Bisection, FindsTheSmallestPositionLikeASearchThroughAllOfThem) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{2}, std::size_t{7}, speed_up_fractions().size()}) {
    for (std::size_t threshold = 0; threshold <= count; ++threshold) {
      std::map<std::size_t, bool> reached;
      while (const auto next = next_position(reached, count)) {
        ASSERT_LT(*next, count);
        ASSERT_EQ(reached.count(*next), 0U) << "no position twice";
        reached[*next] = *next >= threshold;
      }
      const auto found = smallest_reached(reached);
      EXPECT_EQ(found.has_value(), threshold < count);
      if (found) {
        EXPECT_EQ(*found, threshold);
      }
      EXPECT_LE(reached.size(), static_cast<std::size_t>(std::ceil(std::log2(static_cast<double>(count + 1)))));
    }
  }
}

TEST(Reaches, ComparesTheMeanAndNeverADivergedRun) {
  EXPECT_TRUE(reaches({{1, 1.0}, {2, 3.0}}, 2.0, "test_loss"));
  EXPECT_FALSE(reaches({{1, 1.0}, {2, 3.1}}, 2.0, "test_loss"));
  EXPECT_TRUE(reaches({{1, 1.0}, {2, 3.1}}, 2.0, "test_accuracy"));
  EXPECT_FALSE(reaches({{1, 1.0}, {2, NAN}}, 2.0, "test_loss"));
  EXPECT_FALSE(reaches({{1, std::numeric_limits<double>::infinity()}}, 2.0, "test_accuracy"));
  EXPECT_FALSE(reaches({}, 2.0, "test_loss"));
}

TEST(ContestPlan, ARunHasTheProtocolsScheduleAndItsOwnSettings) {
  const auto contest = parse_contest(testing::kSmallContest + "settings.train.batch_size = 32\n", "c.toml");
  const auto runs =
      plan_runs(contest.tasks[0], {{"adamw", 0.5, "optimizer.weight_decay=0.25", 200}, {"muon", 0.25, "", 90}}, {3, 4});
  ASSERT_EQ(runs.size(), 4U);
  EXPECT_EQ(runs[0].variant, "adamw[weight_decay=0.25]");
  const auto& config = runs[0].config;
  EXPECT_EQ(config.optimizer.group.weight_decay, 0.25);
  EXPECT_EQ(config.optimizer.group.lr, 0.5);
  EXPECT_EQ(config.steps, 200);
  EXPECT_EQ(config.epochs, 0);
  EXPECT_EQ(config.evaluate_every, 200);
  EXPECT_EQ(config.rate.shape, train::RateShape::linear);
  EXPECT_EQ(config.rate.warmup, 10);
  EXPECT_EQ(config.rate.floor, 0.0);
  EXPECT_EQ(config.batch_size, 32);
  EXPECT_EQ(config.judge.window, 1);
  EXPECT_EQ(config.threads, 1);
  EXPECT_EQ(config.seed, 3U);
  EXPECT_EQ(runs[1].config.optimizer.name, "muon");
  EXPECT_EQ(runs[1].config.steps, 90);
  EXPECT_EQ(runs[2].config.seed, 4U) << "seeds are the outermost loop";
  EXPECT_EQ(runs[2].config.optimizer.seed, 4U);
  EXPECT_EQ(runs[2].variant, runs[0].variant);
  EXPECT_NE(runs[2].directory, runs[0].directory);
}

TEST(ContestPlan, AKnobReplacesTheArmsOwnValue) {
  const auto contest =
      parse_contest(testing::kSmallContest + "replace.lion = \"lion[weight_decay=0.1,beta2=0.9]\"\n", "c");
  const auto& task = contest.tasks[0];
  EXPECT_EQ(optimizer_text(task, "lion", ""), "lion[weight_decay=0.1,beta2=0.9]");
  EXPECT_EQ(optimizer_text(task, "lion", "optimizer.weight_decay=0.5"), "lion[beta2=0.9,weight_decay=0.5]");
  EXPECT_EQ(optimizer_text(task, "muon", "optimizer.momentum=0.5"), "muon[momentum=0.5]");
}

TEST(ContestMetrics, TuningUsesHeldOutRowsAndTheVerdictTestRows) {
  EXPECT_EQ(tuning_metric("test_loss"), "validation_loss");
  EXPECT_EQ(tuning_metric("validation_accuracy"), "validation_accuracy");
  EXPECT_EQ(reported_metric("validation_loss"), "test_loss");
}

}  // namespace
}  // namespace lehi::contest
