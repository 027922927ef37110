#include "distributed/cost.h"

#include <algorithm>
#include <cmath>

namespace lehi::distributed {
namespace {

constexpr double bytes_a_weight = 4.0;
constexpr double header_bytes = 32.0;  // sums and counts of the loss, before the pull-back

// A step that pulls back one vector, or two.
double seconds_of(const StepModel& model, int vectors, int ranks) {
  const double pull_back = model.adamw_seconds * model.pull_back_share * vectors;
  const double alone = model.adamw_seconds + model.adamw_seconds * model.pull_back_share * (vectors - 1);
  if (ranks == 1) return alone;
  const double bytes = model.parameters * bytes_a_weight * vectors;
  const double buckets = std::max(1.0, std::ceil(bytes / model.bucket_bytes));
  const double one = all_reduce_seconds(bytes / buckets, ranks, model.link);
  const double hidden = pull_back * (1.0 - 1.0 / buckets);
  return alone + all_reduce_seconds(header_bytes, ranks, model.link) + std::max(one, buckets * one - hidden);
}

}  // namespace

double all_reduce_seconds(double bytes, int ranks, const Link& link) {
  if (ranks < 2) return 0.0;
  const double others = ranks - 1;
  return 2.0 * others * link.latency + 2.0 * others / ranks * bytes / link.bytes_per_second;
}

Link link_of(double small_seconds, double large_seconds, double large_bytes, int ranks) {
  const double others = ranks - 1;
  const double travel = std::max(large_seconds - small_seconds, 1e-9);
  return {.latency = small_seconds / (2.0 * others), .bytes_per_second = 2.0 * others / ranks * large_bytes / travel};
}

const std::vector<OptimizerCost>& optimizer_costs() {
  static const std::vector<OptimizerCost> costs = {
      {"adamw", 0.0}, {"lehi", 1.0}, {"lehibrid", 0.5}, {"lehi-gn", 0.1}, {"sophia-g", 0.1}};
  return costs;
}

double summed_bytes(const StepModel& model, const OptimizerCost& optimizer) {
  return model.parameters * bytes_a_weight * (1.0 + optimizer.second_pull_backs);
}

double step_seconds(const StepModel& model, const OptimizerCost& optimizer, int ranks) {
  const double often = optimizer.second_pull_backs;
  return (1.0 - often) * seconds_of(model, 1, ranks) + often * seconds_of(model, 2, ranks);
}

}  // namespace lehi::distributed
