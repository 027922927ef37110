#include "report/cost_table.h"

#include <fmt/format.h>

#include <cmath>

#include "report/format.h"
#include "study/baseline.h"
#include "study/run_cost.h"
#include "study/stability.h"

namespace lehi::report {

using study::RateRuns;
using study::StudyRun;

namespace {

std::string number_text(double value, int digits, const char* unit = "") {
  return std::isfinite(value) ? fmt::format("{:.{}g}{}", value, digits, unit) : "-";
}

std::string count_text(double value) { return std::isfinite(value) ? fmt::format("{:.0f}", value) : "-"; }

double mean_eps_dominated(const RateRuns& runs) {
  std::vector<double> values;
  for (const auto* run : runs.runs) {
    if (std::isfinite(run->eps_dominated)) values.push_back(run->eps_dominated);
  }
  return study::mean_and_std(values).mean;
}

std::string reached_text(const study::Reached& reached, const std::string& text) {
  if (reached.seeds == 0) return "-";
  if (reached.reached == 0) return "never";
  return reached.reached == reached.seeds ? text : fmt::format("{} ({}/{})", text, reached.reached, reached.seeds);
}

}  // namespace

Table cost_table(const Section& section, const Analysis& analysis) {
  const auto& baseline = *analysis.baseline;
  const auto& name = baseline.variant->variant;
  Table table{{{"optimizer", "rate", "step time", "fastest", "slowest", "forward", "backward", "peak memory",
                fmt::format("time to {}'s", name), fmt::format("passes to {}'s", name), "largest gradient",
                "steps above 10", "eps dominates"}}};
  const double baseline_step = study::cost_of(*baseline.runs).fastest_step;
  const auto directory_of = [&](const StudyRun& run) { return section.study_directory(run); };
  for (const auto& [variant, runs, selection] : analysis.picked) {
    const auto cost = study::cost_of(*runs);
    const auto stability = study::stability_of(*runs);
    const auto reached = study::reach_baseline(*runs, *baseline.runs, analysis.metric, directory_of);
    const double dominated = mean_eps_dominated(*runs);
    table.rows.push_back(
        {variant->variant, rate_text(selection.lr), number_text(cost.fastest_step / baseline_step, 3),
         number_text(1e3 * cost.fastest_step, 3, " ms"), number_text(1e3 * cost.slowest_step, 3, " ms"),
         count_text(cost.forward_passes), count_text(cost.backward_passes),
         number_text(cost.peak_memory_bytes / 1e6, 3, " MB"),
         reached_text(reached, number_text(reached.effort.seconds, 3, " s")),
         reached_text(reached, count_text(reached.effort.forward_passes + reached.effort.backward_passes)),
         number_text(stability.largest_gradient, 3), number_text(stability.spike_steps, 4),
         std::isfinite(dominated) ? fmt::format("{:.1f} %", 100.0 * dominated) : "-"});
  }
  return table;
}

}  // namespace lehi::report
