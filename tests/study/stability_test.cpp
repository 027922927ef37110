// Stability and cost of a rate over its seeds.
#include "study/stability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fake.h"
#include "study/run_cost.h"

namespace lehi::study {
namespace {

using testing::fake_run;

/// A run at rate 0.1 with spikes.
StudyRun run_with_spikes(std::uint64_t seed, double largest, std::int64_t steps, std::int64_t evaluations) {
  auto run = fake_run("lehi", 0.1, seed, 0.3);
  run.largest_gradient = largest;
  run.spike_steps = steps;
  run.spike_evaluations = evaluations;
  return run;
}

Stability stability_with(const std::vector<StudyRun>& runs) { return stability_of({0.1, pointers_to(runs)}); }

TEST(Stability, IsStableWithoutSpikes) {
  const auto stable = stability_with({run_with_spikes(0, 0.5, 0, 0), run_with_spikes(1, 9.9, 0, 0)});
  EXPECT_EQ(stable.status, StabilityStatus::stable);
  EXPECT_EQ(stable.runs, 2U);
  EXPECT_EQ(stable.largest_gradient, 9.9);
  EXPECT_EQ(stable.spike_steps, 0.0);
  EXPECT_EQ(status_text(stable.status), "STABLE");
}

TEST(Stability, IsNoisyWithASpikeInAnyRun) {
  const auto noisy =
      stability_with({run_with_spikes(0, 0.5, 0, 0), run_with_spikes(1, 120.0, 6, 2), run_with_spikes(2, 11.0, 3, 2)});
  EXPECT_EQ(noisy.status, StabilityStatus::noisy);
  EXPECT_EQ(noisy.largest_gradient, 120.0);
  EXPECT_EQ(noisy.spike_steps, 3.0);  // 9 / 3
  EXPECT_NEAR(noisy.spike_evaluations, 4.0 / 3.0, 1e-15);
  EXPECT_EQ(status_text(noisy.status), "NOISY");
}

TEST(Stability, HasFailedWhenARunEndedInNan) {
  auto lost = fake_run("lehi", 0.1, 1, NAN);
  lost.largest_gradient = NAN;
  const auto failed = stability_with({run_with_spikes(0, 12.0, 1, 1), lost});
  EXPECT_EQ(failed.status, StabilityStatus::failed);
  EXPECT_EQ(failed.diverged, 1U);
  EXPECT_EQ(failed.largest_gradient, 12.0);
  EXPECT_EQ(stability_with({lost, run_with_spikes(0, 12.0, 1, 1)}).largest_gradient, 12.0);
  EXPECT_EQ(status_text(failed.status), "FAILED");
}

TEST(Stability, CountsFinishedRunsOnly) {
  auto waiting = run_with_spikes(0, 50.0, 5, 5);
  waiting.status.reset();
  EXPECT_EQ(stability_with({waiting}).status, StabilityStatus::unknown);
  EXPECT_TRUE(std::isnan(stability_with({waiting}).spike_steps));
  EXPECT_EQ(status_text(StabilityStatus::unknown), "-");
  EXPECT_EQ(stability_with({waiting, run_with_spikes(1, 0.5, 0, 0)}).status, StabilityStatus::stable);
}

TEST(RunCost, HasExtremesOfStepTimesAndMeansOfCounts) {
  std::vector<StudyRun> runs = {fake_run("lehi", 0.1, 0, 0.3), fake_run("lehi", 0.1, 1, 0.3)};
  runs[0].result = {
      {"steps", 100},          {"seconds", 3.0},         {"step_seconds_min", 0.010}, {"step_seconds_max", 0.05},
      {"forward_passes", 100}, {"backward_passes", 200}, {"peak_memory_bytes", 3e8}};
  runs[1].result = {
      {"steps", 300},          {"seconds", 5.0},         {"step_seconds_min", 0.012}, {"step_seconds_max", 0.03},
      {"forward_passes", 300}, {"backward_passes", 400}, {"peak_memory_bytes", 2e8}};
  const auto cost = cost_of({0.1, pointers_to(runs)});
  EXPECT_EQ(cost.runs, 2U);
  EXPECT_EQ(cost.fastest_step, 0.010);
  EXPECT_EQ(cost.slowest_step, 0.05);
  EXPECT_EQ(cost.seconds, 4.0);
  EXPECT_EQ(cost.peak_memory_bytes, 3e8);
  EXPECT_EQ(cost.forward_passes, 200.0);
  EXPECT_EQ(cost.backward_passes, 300.0);
}

TEST(RunCost, IsNanWhereNoRunHasTheValue) {
  std::vector<StudyRun> runs = {fake_run("lehi", 0.1, 0, 0.3)};
  runs[0].result = {{"steps", 4}, {"step_seconds_min", 0.0}, {"step_seconds_max", 0.0}};
  const auto cost = cost_of({0.1, pointers_to(runs)});
  for (const double value :
       {cost.fastest_step, cost.slowest_step, cost.seconds, cost.peak_memory_bytes, cost.forward_passes}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace lehi::study
