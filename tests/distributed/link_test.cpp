#include "distributed/link.h"

#include <gtest/gtest.h>

#include "distributed/gloo_threads.h"

namespace lehi::distributed {
namespace {

// The ring's formula of docs/guides/scaling.md, forwards.
double ring_seconds(double bytes, int ranks, const Link& link) {
  const double others = ranks - 1;
  return 2.0 * others * link.latency + 2.0 * others / ranks * bytes / link.bytes_per_second;
}

TEST(Link, LatencyAndBandwidthAreThoseOfTheRing) {
  const Link ten_gigabit = {.latency = 50e-6, .bytes_per_second = 1.25e9};
  for (const int ranks : {2, 3, 4}) {
    const SumTimes times = {.small = ring_seconds(0.0, ranks, ten_gigabit),
                            .large = ring_seconds(25 << 20, ranks, ten_gigabit)};
    const Link link = link_from(times, ranks);
    EXPECT_NEAR(link.latency, ten_gigabit.latency, 1e-12);
    EXPECT_NEAR(link.bytes_per_second / ten_gigabit.bytes_per_second, 1.0, 1e-9);
  }
  EXPECT_GT(link_from({.small = 2e-3, .large = 1e-3}, 2).bytes_per_second, 0.0) << "noise larger than the difference";
}

// That there are times, not how long they are.
TEST(Link, IsMeasuredBetweenRanks) {
  run_gloo(2, [](const std::shared_ptr<ProcessRanks>& ranks) {
    const SumTimes times = measure_sums(*ranks, 1);
    for (const double seconds : {times.small, times.medium, times.large}) EXPECT_GT(seconds, 0.0);
    EXPECT_EQ(ranks->traffic().summed, 12 * 4 + 6 * (1 << 20) + 3 * (25 << 20));
  });
}

// Tested against what runs sum in training_test.cpp.
TEST(Link, SummedBytesAreFourAWeightAndVector) {
  for (const auto& [optimizer, bytes_a_weight] : summed_bytes()) {
    const double vectors = optimizer == "adamw" ? 1.0 : optimizer == "lehi" ? 2.0 : optimizer == "lehibrid" ? 1.5 : 1.1;
    EXPECT_NEAR(bytes_a_weight, 4.0 * vectors, 1e-12) << optimizer;
  }
}

}  // namespace
}  // namespace lehi::distributed
