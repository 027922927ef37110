#include "study/baseline.h"

#include <gtest/gtest.h>

#include "study/fake.h"
#include "train/scratch.h"

namespace lehi::study {
namespace {

using testing::fake_run;
using testing::Scratch;

TEST(Baseline, EffortIsThatOfTheFirstLineAsGoodAsTheTarget) {
  std::vector<nlohmann::json> lines;
  for (const auto* text :
       {R"({"seconds":1,"x_loss":5,"forward_passes":10,"backward_passes":20})",
        R"({"seconds":2,"x_loss":3,"forward_passes":20,"backward_passes":40})", R"({"seconds":3,"x_loss":1})"}) {
    lines.push_back(nlohmann::json::parse(text));
  }
  const auto effort = effort_to_reach(lines, "x_loss", 3.5);
  ASSERT_TRUE(effort);
  EXPECT_EQ(effort->seconds, 2.0);
  EXPECT_EQ(effort->forward_passes, 20.0);
  EXPECT_EQ(effort->backward_passes, 40.0);
  EXPECT_TRUE(std::isnan(effort_to_reach(lines, "x_loss", 1.0)->forward_passes));
  EXPECT_FALSE(effort_to_reach(lines, "x_loss", 0.5));
  EXPECT_FALSE(effort_to_reach(lines, "other", 0.5));
}

TEST(Baseline, LargerAccuraciesAreBetterAndNullIsNone) {
  std::vector<nlohmann::json> lines;
  for (const auto* text : {R"({"seconds":1,"a_accuracy":50})", R"({"seconds":2,"a_accuracy":null})",
                           R"({"seconds":3,"a_accuracy":70})", R"({"seconds":4,"a_accuracy":60})"}) {
    lines.push_back(nlohmann::json::parse(text));
  }
  EXPECT_EQ(effort_to_reach(lines, "a_accuracy", 55.0)->seconds, 3.0);
  EXPECT_EQ(effort_to_reach(lines, "a_accuracy", 50.0)->seconds, 1.0);
  EXPECT_FALSE(effort_to_reach(lines, "a_accuracy", 71.0));
}

TEST(Baseline, IsComparedSeedBySeed) {
  const Scratch scratch;
  const std::vector<StudyRun> ours = {fake_run("lehi", 0.1, 0, 0.3), fake_run("lehi", 0.1, 1, 0.3),
                                      fake_run("lehi", 0.1, 2, 0.3), fake_run("lehi", 0.1, 3, 0.3)};
  const std::vector<StudyRun> adam = {fake_run("adam", 0.1, 0, 0.5), fake_run("adam", 0.1, 1, 0.2),
                                      fake_run("adam", 0.1, 2, NAN)};
  for (const auto& run : ours) {
    make_directories(scratch / run.directory);
    testing::spill(scratch / run.directory / "metrics.jsonl", testing::fake_metrics);
  }
  const auto reached = reach_baseline({0.1, pointers_to(ours)}, {0.1, pointers_to(adam)}, "test_loss",
                                      [&](const StudyRun&) { return scratch.path(); });
  EXPECT_EQ(reached.seeds, 2U) << "the baseline diverged with one seed and lacks another";
  EXPECT_EQ(reached.reached, 1U);
  EXPECT_NEAR(reached.effort.seconds, 0.2, 1e-15);  // the fake metrics are 0.5 there and never reach 0.2
}

}  // namespace
}  // namespace lehi::study
