#include "study/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "study/json.h"
#include "train/metrics_log.h"

namespace lehi::study {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::vector<json> lines_of(const StudyRun& run, const std::filesystem::path& directory) {
  try {
    return train::read_metrics(run_file(run, directory, "metrics.jsonl"));
  } catch (const std::exception&) {
    return {};  // the table says "-", the run's status why
  }
}

std::string baseline_of(const std::vector<VariantRuns>& groups) {
  const auto adam =
      std::find_if(groups.begin(), groups.end(), [](const auto& group) { return group.variant == "adam"; });
  return adam != groups.end() ? adam->variant : groups.front().variant;
}

}  // namespace

std::optional<Effort> effort_to_reach(const std::vector<json>& lines, const std::string& metric, double target) {
  for (const json& line : lines) {
    const double value = number_or_nan(line, metric.c_str());
    if (!std::isfinite(value) || better(metric, target, value)) continue;
    return Effort{number_or_nan(line, "seconds"), number_or_nan(line, "forward_passes"),
                  number_or_nan(line, "backward_passes")};
  }
  return {};
}

std::optional<double> seconds_to_reach(const std::vector<json>& lines, const std::string& metric, double target) {
  const auto effort = effort_to_reach(lines, metric, target);
  return effort ? std::optional(effort->seconds) : std::nullopt;
}

Reached reach_baseline(const RateRuns& runs, const RateRuns& baseline, const std::string& metric,
                       const std::function<std::filesystem::path(const StudyRun&)>& place) {
  std::map<std::uint64_t, double> targets;  // what the baseline ended with, by seed
  for (const auto* run : baseline.runs) {
    if (const double mean = run->mean(metric); std::isfinite(mean)) targets[run->seed] = mean;
  }
  Reached result;
  std::vector<double> seconds, forward, backward;
  for (const auto* run : runs.runs) {
    const auto target = targets.find(run->seed);
    if (!run->finished() || target == targets.end()) continue;
    ++result.seeds;
    const auto effort = effort_to_reach(lines_of(*run, place(*run)), metric, target->second);
    if (!effort) continue;
    ++result.reached;
    seconds.push_back(effort->seconds);
    forward.push_back(effort->forward_passes);
    backward.push_back(effort->backward_passes);
  }
  result.effort = {mean_of(seconds), mean_of(forward), mean_of(backward)};
  return result;
}

Comparison compare_runs(const Study& study, const std::filesystem::path& directory) {
  const auto groups = group_runs(pointers_to(study.runs));
  Comparison result;
  result.task = study.runs.front().task;
  result.metric = reported_metric(pointers_to(study.runs));
  result.window = study.runs.front().window;
  result.baseline = baseline_of(groups);

  RateRuns baseline;  // at its only rate
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
      row.final = spread(finals);
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
