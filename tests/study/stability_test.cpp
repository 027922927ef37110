// Stability and cost of a rate over its seeds.
#include "study/stability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fake.h"
#include "study/run_cost.h"

namespace lehi::study {
namespace {

using testing::fake_run;

/// With so many spikes, at 0.1.
StudyRun spiky(std::uint64_t seed, double largest, std::int64_t steps, std::int64_t evaluations) {
  auto run = fake_run("lehi", 0.1, seed, 0.3);
  run.largest_gradient = largest;
  run.spike_steps = steps;
  run.spike_evaluations = evaluations;
  return run;
}

Stability stability_with(const std::vector<StudyRun>& runs) { return stability_of({0.1, pointers_to(runs)}); }

TEST(Stability, IsStableWithoutSpikes) {
  const auto calm = stability_with({spiky(0, 0.5, 0, 0), spiky(1, 9.9, 0, 0)});
  EXPECT_EQ(calm.calm, Calm::stable);
  EXPECT_EQ(calm.runs, 2U);
  EXPECT_EQ(calm.largest_gradient, 9.9);
  EXPECT_EQ(calm.spike_steps, 0.0);
  EXPECT_EQ(calm_text(calm.calm), "STABLE");
}

TEST(Stability, IsNoisyWithASpikeInAnyRun) {
  const auto noisy = stability_with({spiky(0, 0.5, 0, 0), spiky(1, 120.0, 6, 2), spiky(2, 11.0, 3, 2)});
  EXPECT_EQ(noisy.calm, Calm::noisy);
  EXPECT_EQ(noisy.largest_gradient, 120.0);
  EXPECT_EQ(noisy.spike_steps, 3.0);  // 9 / 3
  EXPECT_NEAR(noisy.spike_evaluations, 4.0 / 3.0, 1e-15);
  EXPECT_EQ(calm_text(noisy.calm), "NOISY");
}

TEST(Stability, HasFailedWhenARunEndedInNan) {
  auto lost = fake_run("lehi", 0.1, 1, NAN);
  lost.largest_gradient = NAN;
  const auto failed = stability_with({spiky(0, 12.0, 1, 1), lost});
  EXPECT_EQ(failed.calm, Calm::failed);
  EXPECT_EQ(failed.diverged, 1U);
  EXPECT_EQ(failed.largest_gradient, 12.0);
  EXPECT_EQ(stability_with({lost, spiky(0, 12.0, 1, 1)}).largest_gradient, 12.0);
  EXPECT_EQ(calm_text(failed.calm), "FAILED");
}

TEST(Stability, LooksAtFinishedRunsOnly) {
  auto waiting = spiky(0, 50.0, 5, 5);
  waiting.status.reset();
  EXPECT_EQ(stability_with({waiting}).calm, Calm::unknown);
  EXPECT_TRUE(std::isnan(stability_with({waiting}).spike_steps));
  EXPECT_EQ(calm_text(Calm::unknown), "-");
  EXPECT_EQ(stability_with({waiting, spiky(1, 0.5, 0, 0)}).calm, Calm::stable);
}

TEST(Stability, TheTableHasARowAnOptimizerAndACellARate) {
  const std::vector<StudyRun> runs = {spiky(0, 20.0, 1, 1), fake_run("lehi", 0.01, 0, 0.3),
                                      fake_run("adam", 0.1, 0, NAN)};
  const auto table = stability_table(group_runs(pointers_to(runs)));
  ASSERT_EQ(table.size(), 2U);
  ASSERT_EQ(table[0].rates.size(), 2U);
  EXPECT_EQ(table[0].variant, "lehi");
  EXPECT_EQ(table[0].rates[0].lr, 0.01);
  EXPECT_EQ(table[0].rates[0].calm, Calm::stable);
  EXPECT_EQ(table[0].rates[1].calm, Calm::noisy);
  EXPECT_EQ(table[1].rates[0].calm, Calm::failed);
}

TEST(StudyCost, TakesExtremesOfWindowsAndMeansOfCounts) {
  std::vector<StudyRun> runs = {fake_run("lehi", 0.1, 0, 0.3), fake_run("lehi", 0.1, 1, 0.3)};
  runs[0].result = {{"steps", 100},
                    {"seconds", 3.0},
                    {"step_seconds_min", 0.010},
                    {"step_seconds_max", 0.05},
                    {"forward_passes", 100},
                    {"backward_passes", 200},
                    {"peak_memory_bytes", 3e8},
                    {"split", {{"batch", 0.5}, {"step", 1.5}}}};
  runs[1].result = {{"steps", 300},
                    {"seconds", 5.0},
                    {"step_seconds_min", 0.012},
                    {"step_seconds_max", 0.03},
                    {"forward_passes", 300},
                    {"backward_passes", 400},
                    {"peak_memory_bytes", 2e8},
                    {"split", {{"batch", 0.5}, {"step", 3.5}}}};
  const auto cost = cost_of({0.1, pointers_to(runs)});
  EXPECT_EQ(cost.runs, 2U);
  EXPECT_EQ(cost.fastest_step, 0.010);
  EXPECT_EQ(cost.slowest_step, 0.05);
  EXPECT_EQ(cost.mean_step, 6.0 / 400.0);
  EXPECT_EQ(cost.seconds, 4.0);
  EXPECT_EQ(cost.peak_memory_bytes, 3e8);
  EXPECT_EQ(cost.forward_passes, 200.0);
  EXPECT_EQ(cost.backward_passes, 300.0);
}

TEST(StudyCost, IsUnknownWhereNoRunTells) {
  std::vector<StudyRun> runs = {fake_run("lehi", 0.1, 0, 0.3)};
  runs[0].result = {{"steps", 4}, {"step_seconds_min", 0.0}, {"step_seconds_max", 0.0}, {"split", "none"}};
  const auto cost = cost_of({0.1, pointers_to(runs)});
  for (const double value : {cost.fastest_step, cost.slowest_step, cost.mean_step, cost.seconds, cost.peak_memory_bytes,
                             cost.forward_passes}) {
    EXPECT_TRUE(std::isnan(value));
  }
}

}  // namespace
}  // namespace lehi::study
