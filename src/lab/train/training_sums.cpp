#include "train/training_sums.h"

#include <algorithm>
#include <limits>

#include "train/json_file.h"

namespace lehi::train {

using nlohmann::json;

json to_json(const TimeSplit& time) {
  return {{"batch", time.batch}, {"step", time.step}, {"evaluate", time.evaluate}, {"record", time.record}};
}

TimeSplit time_split_from(const json& document, const std::string& where) {
  return {number_field(document, "batch", where), number_field(document, "step", where),
          number_field(document, "evaluate", where), number_field(document, "record", where)};
}

Stopwatch::~Stopwatch() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

double IntervalSums::mean_loss() const { return rows > 0.0 ? loss / rows : std::numeric_limits<double>::quiet_NaN(); }

json to_json(const IntervalSums& sums) {
  return {{"loss", sums.loss}, {"rows", sums.rows}, {"gradient", sums.gradient}, {"spikes", sums.spikes}};
}

IntervalSums interval_sums_from(const json& document, const std::string& where) {
  return {number_field(document, "loss", where), number_field(document, "rows", where),
          number_field(document, "gradient", where), count_field(document, "spikes", where)};
}

RunSums run_sums_from(const json& document, const std::string& where) {
  return {count_field(document, "forward_passes", where),    count_field(document, "backward_passes", where),
          number_field(document, "grad_inf_norm", where),    count_field(document, "spikes", where),
          number_field(document, "step_seconds_min", where), number_field(document, "step_seconds_max", where)};
}

void StepTimeWindow::add(double seconds, RunSums& sums) {
  constexpr int steps_of_window = 10;
  seconds_ += seconds;
  if (++steps_ < steps_of_window) return;
  const double average = seconds_ / steps_of_window;
  sums.fastest = sums.fastest == 0.0 ? average : std::min(sums.fastest, average);
  sums.slowest = std::max(sums.slowest, average);
  seconds_ = 0.0;
  steps_ = 0;
}

}  // namespace lehi::train
