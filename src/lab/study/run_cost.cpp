#include "study/run_cost.h"

#include <cmath>

#include "study/json.h"

namespace lehi::study {
namespace {

/// Minimum, maximum and mean of the finite numbers added.
struct Summary {
  double smallest = kNan;
  double largest = kNan;
  double sum = 0.0;
  double count = 0.0;

  void add(double value) {
    if (!std::isfinite(value)) return;
    if (!(smallest <= value)) smallest = value;
    if (!(largest >= value)) largest = value;
    sum += value;
    count += 1.0;
  }
  double mean() const { return sum / count; }  // 0 / 0 is NaN
};

double positive_or_nan(double value) { return value > 0.0 ? value : kNan; }

}  // namespace

double step_seconds(const StudyRun& run) { return positive_or_nan(run.number("step_seconds_min")); }

Cost cost_of(const RateRuns& runs) {
  Cost cost;
  Summary fastest, slowest, seconds, memory, forward, backward;
  for (const auto* run : runs.runs) {
    if (!run->finished()) continue;
    ++cost.runs;
    fastest.add(step_seconds(*run));
    slowest.add(positive_or_nan(run->number("step_seconds_max")));
    seconds.add(run->number("seconds"));
    memory.add(run->number("peak_memory_bytes"));
    forward.add(run->number("forward_passes"));
    backward.add(run->number("backward_passes"));
  }
  cost.fastest_step = fastest.smallest;
  cost.slowest_step = slowest.largest;
  cost.seconds = seconds.mean();
  cost.peak_memory_bytes = memory.largest;
  cost.forward_passes = forward.mean();
  cost.backward_passes = backward.mean();
  return cost;
}

}  // namespace lehi::study
