#include "study/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fake.h"
#include "train/scratch.h"

namespace lehi::study {
namespace {

using testing::fake_run;
using testing::Scratch;

TEST(Comparison, CountsRunsAndMeasuresTimes) {
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
  // Adam's results are 0.45 and 0.35; the fake metrics reach 0.3 at 0.4 s and are 0.5 before.
  EXPECT_NEAR(lehi.seconds_to_baseline, 0.4, 1e-12);
  EXPECT_NEAR(lehi.relative_step, 2.0, 1e-12);
  EXPECT_EQ(lehi.backward_passes, 200.0);
  const auto& adam = comparison.rows[1];
  EXPECT_NEAR(adam.final.mean, 0.4, 1e-12);
  EXPECT_NEAR(adam.final.std, 0.1 / std::sqrt(2.0), 1e-12);
  EXPECT_EQ(adam.relative_step, 1.0);
  EXPECT_EQ(status_text(adam), "2 done");
}

}  // namespace
}  // namespace lehi::study
