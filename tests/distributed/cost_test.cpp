#include "distributed/cost.h"

#include <gtest/gtest.h>

namespace lehi::distributed {
namespace {

const Link ten_gigabit = {.latency = 50e-6, .bytes_per_second = 1.25e9};

TEST(Cost, ARingSendsTwiceTheBytesAtMost) {
  EXPECT_EQ(all_reduce_seconds(1e9, 1, ten_gigabit), 0.0);
  EXPECT_NEAR(all_reduce_seconds(1.25e9, 2, ten_gigabit), 1.0 + 2 * 50e-6, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(1.25e9, 4, ten_gigabit), 1.5 + 6 * 50e-6, 1e-12);
  EXPECT_NEAR(all_reduce_seconds(1.25e9, 1024, ten_gigabit), 2.0 * 1023 / 1024 + 2046 * 50e-6, 1e-12);
}

TEST(Cost, TwoMeasurementsTellTheLink) {
  for (const int ranks : {2, 3, 4}) {
    const double small = all_reduce_seconds(0.0, ranks, ten_gigabit);
    const double large = all_reduce_seconds(1e8, ranks, ten_gigabit);
    const Link link = link_of(small, large, 1e8, ranks);
    EXPECT_NEAR(link.latency, ten_gigabit.latency, 1e-12);
    EXPECT_NEAR(link.bytes_per_second / ten_gigabit.bytes_per_second, 1.0, 1e-9);
  }
}

TEST(Cost, StepsHideWhatFitsBehindThePullBack) {
  StepModel model{.parameters = 124e6, .adamw_seconds = 10.0, .link = ten_gigabit};
  const auto& adamw = optimizer_costs()[0];
  const auto& lehi = optimizer_costs()[1];
  EXPECT_EQ(adamw.name, "adamw");
  EXPECT_EQ(step_seconds(model, adamw, 1), 10.0);
  EXPECT_NEAR(step_seconds(model, lehi, 1), 16.0, 1e-9);
  // 0.5 GB travel in 0.8 s, behind six seconds of pull-back: only the last of 19 buckets is waited for.
  EXPECT_NEAR(step_seconds(model, adamw, 1024), 10.0 + 2046 * 50e-6 * 2 + 2.0 / 19 * 124e6 * 4 / 1.25e9, 1e-3);
  // With nothing to hide behind all of it is waited for.
  model.adamw_seconds = 1e-9;
  EXPECT_NEAR(step_seconds(model, adamw, 2), 19 * 100e-6 + 100e-6 + 124e6 * 4 / 1.25e9, 1e-6);
  EXPECT_GT(step_seconds(model, lehi, 2), 1.9 * step_seconds(model, adamw, 2));
}

TEST(Cost, BytesAreThoseOfTheIssue) {
  const StepModel model{.parameters = 1.0};
  for (const auto& optimizer : optimizer_costs()) {
    const double expected = optimizer.name == "adamw"      ? 4.0
                            : optimizer.name == "lehi"     ? 8.0
                            : optimizer.name == "lehibrid" ? 6.0
                                                           : 4.4;
    EXPECT_NEAR(summed_bytes(model, optimizer), expected, 1e-12) << optimizer.name;
  }
}

}  // namespace
}  // namespace lehi::distributed
