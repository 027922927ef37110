// Optimizers side by side, and the paper's values beside them.
#include "study/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fake.h"
#include "study/paper.h"
#include "train/scratch.h"

namespace lehi::study {
namespace {

using testing::fake_run;
using testing::Scratch;

TEST(Comparison, CountsTimesAndSteps) {
  const Scratch scratch;
  Study study;
  study.kind = "compare";
  study.runs = {fake_run("lehi", 0.1, 0, 0.5), fake_run("lehi", 0.1, 1, NAN), fake_run("adam", 0.001, 0, 0.45),
                fake_run("adam", 0.001, 1, 0.35)};
  study.runs[0].result["step_seconds_min"] = 0.03;
  study.runs[1].result["step_seconds_min"] = 0.04;
  for (const auto& run : study.runs) {
    make_directories(scratch / run.directory);
    testing::spill(scratch / run.directory / "metrics.jsonl", testing::fake_metrics);
  }
  const auto comparison = compare_runs(study, scratch.path());
  EXPECT_EQ(comparison.baseline, "adam");
  ASSERT_EQ(comparison.rows.size(), 2U);
  const auto& lehi = comparison.rows[0];
  EXPECT_EQ(status_text(lehi), "1 done, 1 diverged");
  EXPECT_TRUE(std::isnan(lehi.final.mean)) << "a diverged seed counts as worst";
  EXPECT_EQ(lehi.reached, 2U);
  // Adam ended with 0.45 and 0.35; the fake metrics fall to 0.3 at 0.4 s, and are 0.5 before.
  EXPECT_NEAR(lehi.seconds_to_baseline, 0.4, 1e-12);
  EXPECT_NEAR(lehi.relative_step, 2.0, 1e-12);
  EXPECT_EQ(lehi.backward_passes, 200.0);
  const auto& adam = comparison.rows[1];
  EXPECT_NEAR(adam.final.mean, 0.4, 1e-12);
  EXPECT_NEAR(adam.final.std, 0.1 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(adam.relative_step, 1.0);
  EXPECT_EQ(status_text(adam), "2 done");
}

TEST(Comparison, TimeToReachIsThatOfTheFirstLineAsGood) {
  std::vector<nlohmann::json> lines;
  for (const auto* text : {R"({"seconds":1,"a_accuracy":50})", R"({"seconds":2,"a_accuracy":null})",
                           R"({"seconds":3,"a_accuracy":70})", R"({"seconds":4,"a_accuracy":60})"}) {
    lines.push_back(nlohmann::json::parse(text));
  }
  EXPECT_EQ(seconds_to_reach(lines, "a_accuracy", 55.0), 3.0);
  EXPECT_EQ(seconds_to_reach(lines, "a_accuracy", 50.0), 1.0);
  EXPECT_FALSE(seconds_to_reach(lines, "a_accuracy", 71.0));
  EXPECT_FALSE(seconds_to_reach(lines, "other", 0.0));
}

TEST(Comparison, PassesToReachAreThoseOfTheSameLine) {
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
}

TEST(Comparison, ReachesABaselineSeedBySeed) {
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
  EXPECT_EQ(reached.seeds, 2U) << "the baseline diverged on one seed and never had another";
  EXPECT_EQ(reached.reached, 1U);
  EXPECT_NEAR(reached.effort.seconds, 0.2, 1e-15);  // the fake metrics are 0.5 there, and never 0.2
}

TEST(PaperTables, HaveThePublishedCells) {
  const auto* cell = paper_cell("protein", "lehi", 0.1);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->mean, 0.2426);
  EXPECT_EQ(cell->two_std, 0.0089);
  EXPECT_EQ(paper_cell("mnist", "sophia-g", 0.1), nullptr);
  EXPECT_EQ(paper_cell("fashion-mnist", "lehi", 0.1), nullptr);
  EXPECT_EQ(paper_cell("protein", "lehi", 0.2), nullptr);
  for (const auto* task : {"protein", "mnist"}) {
    std::size_t cells = 0;
    for (const auto& [optimizer, row] : paper_tables().at(task).search) cells += row.size();
    EXPECT_EQ(cells, 28U) << task;
  }
  EXPECT_EQ(paper_tables().at("mnist").metric, "test_accuracy");
}

TEST(PaperTables, HaveThePublishedSummaries) {
  const auto* cell = paper_summary_cell("protein", "lehi", 0.1);
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->mean, 0.2446);
  EXPECT_EQ(cell->two_std, 0.0061);
  EXPECT_EQ(paper_summary_cell("protein", "lehi", 1e-4), nullptr) << "one seed only";
}

TEST(PaperTables, TolerancesAreThoseOfTheTask) {
  EXPECT_NEAR(paper_tolerance("test_loss", {.lr = 0.1, .mean = 0.2426, .two_std = 0.0089}), 0.0178, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_loss", {.lr = 1e-4, .mean = 0.35, .two_std = 0.0009}), 0.00875, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_accuracy", {.lr = 1e-4, .mean = 91.0, .two_std = 0.1}), 0.5, 1e-12);
  EXPECT_NEAR(paper_tolerance("test_accuracy", {.lr = 1e-1, .mean = 91.0, .two_std = 0.9}), 1.8, 1e-12);
}

}  // namespace
}  // namespace lehi::study
