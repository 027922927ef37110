// What a data-parallel step costs: a model of few numbers, whose constants `lehi scaling` measures.
//
// Gloo sums in a ring: with P ranks a message makes 2 (P - 1) hops, and of B bytes each rank sends and receives
// 2 (P - 1) / P B. Buckets are summed one after the other while the pull-back still runs; what is not done when it ends
// the step waits for, and at least for the last bucket, which is complete only then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lehi::distributed {

/// Between two neighbours of the ring.
struct Link {
  double latency = 0.0;           ///< seconds a hop
  double bytes_per_second = 1.0;  ///< that a rank sends
};

double all_reduce_seconds(double bytes, int ranks, const Link& link);

/// The link that two measured sums tell: of few bytes and of many.
Link link_of(double small_seconds, double large_seconds, double large_bytes, int ranks);

/// One optimizer's work on one rank, against AdamW's.
struct OptimizerCost {
  std::string name;
  double second_pull_backs = 0.0;  ///< a step, on average: 1 for LEHI, 0.1 for a refresh every 10 steps
};

/// The published optimizers and the amortised ones.
const std::vector<OptimizerCost>& optimizer_costs();

struct StepModel {
  double parameters = 0.0;
  double adamw_seconds = 0.0;    ///< of a rank's step alone: forward, pull-back, update
  double pull_back_share = 0.6;  ///< of that step; a second pull-back takes as long again
  double bucket_bytes = 25 << 20;
  Link link;
};

/// Bytes that a step sums over the ranks, on average.
double summed_bytes(const StepModel& model, const OptimizerCost& optimizer);

/// Mean seconds of a step with so many ranks, each of which has as many rows as before.
double step_seconds(const StepModel& model, const OptimizerCost& optimizer, int ranks);

}  // namespace lehi::distributed
