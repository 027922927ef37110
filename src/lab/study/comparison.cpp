#include "study/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "study/baseline.h"
#include "study/json.h"
#include "study/run_cost.h"
#include "study/selection.h"

namespace lehi::study {
namespace {

using nlohmann::ordered_json;

std::string baseline_of(const std::vector<VariantRuns>& groups) {
  const auto adam =
      std::find_if(groups.begin(), groups.end(), [](const auto& group) { return group.variant == "adam"; });
  return adam != groups.end() ? adam->variant : groups.front().variant;
}

}  // namespace

Comparison compare_runs(const Study& study, const std::filesystem::path& directory) {
  const auto groups = group_runs(pointers_to(study.runs));
  Comparison result;
  result.task = study.runs.front().task;
  result.metric = reported_metric(pointers_to(study.runs));
  result.window = study.runs.front().window;
  result.baseline = baseline_of(groups);

  RateRuns baseline;  // it has one rate only
  for (const auto& run : study.runs) {
    if (run.variant == result.baseline) baseline.runs.push_back(&run);
  }
  for (const auto& group : groups) {
    for (const auto& rate : group.rates) {
      ComparisonRow row;
      row.variant = group.variant;
      row.lr = rate.lr;
      std::vector<double> finals;
      for (const auto* run : rate.runs) {
        row.done += run->done() ? 1U : 0U;
        row.diverged += run->diverged() ? 1U : 0U;
        row.failed += run->status == train::RunStatus::failed ? 1U : 0U;
        if (run->finished()) finals.push_back(run->mean(result.metric));
      }
      row.unfinished = rate.runs.size() - row.done - row.diverged - row.failed;
      row.final = mean_and_std(finals);
      const auto reached = reach_baseline(
          rate, baseline, result.metric, [&](const StudyRun&) -> const auto& { return directory; });
      row.reached = reached.reached;
      row.seconds_to_baseline = reached.effort.seconds;
      row.forward_to_baseline = reached.effort.forward_passes;
      row.backward_to_baseline = reached.effort.backward_passes;
      const auto cost = cost_of(rate);
      row.step_seconds = cost.fastest_step;
      row.forward_passes = cost.forward_passes;
      row.backward_passes = cost.backward_passes;
      row.peak_memory_bytes = std::isfinite(cost.peak_memory_bytes) ? cost.peak_memory_bytes : 0.0;
      result.rows.push_back(row);
    }
  }
  const auto base = std::find_if(result.rows.begin(), result.rows.end(),
                                 [&](const auto& row) { return row.variant == result.baseline; });
  for (auto& row : result.rows) row.relative_step = row.step_seconds / base->step_seconds;
  return result;
}

std::string status_text(const ComparisonRow& row) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(row.done, "done");
  add(row.diverged, "diverged");
  add(row.failed, "failed");
  add(row.unfinished, "unfinished");
  return fmt::format("{}", fmt::join(parts, ", "));
}

ordered_json to_json(const Comparison& comparison) {
  ordered_json rows = ordered_json::array();
  for (const auto& row : comparison.rows) {
    rows.push_back({{"variant", row.variant},
                    {"lr", row.lr},
                    {"mean", number_or_null(row.final.mean)},
                    {"std", number_or_null(row.final.std)},
                    {"seeds", row.final.count},
                    {"done", row.done},
                    {"diverged", row.diverged},
                    {"failed", row.failed},
                    {"unfinished", row.unfinished},
                    {"seconds_to_baseline", number_or_null(row.seconds_to_baseline)},
                    {"forward_passes_to_baseline", number_or_null(row.forward_to_baseline)},
                    {"backward_passes_to_baseline", number_or_null(row.backward_to_baseline)},
                    {"reached_baseline", row.reached},
                    {"step_seconds", number_or_null(row.step_seconds)},
                    {"relative_step_seconds", number_or_null(row.relative_step)},
                    {"forward_passes", number_or_null(row.forward_passes)},
                    {"backward_passes", number_or_null(row.backward_passes)},
                    {"peak_memory_bytes", row.peak_memory_bytes}});
  }
  return {{"task", comparison.task},
          {"metric", comparison.metric},
          {"window", comparison.window},
          {"baseline", comparison.baseline},
          {"optimizers", rows}};
}

}  // namespace lehi::study
