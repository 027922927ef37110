#include "study/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "study/selection.h"
#include "train/files.h"
#include "train/metrics_log.h"

namespace lehi::study {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

std::vector<json> lines_of(const StudyRun& run, const std::filesystem::path& directory) {
  try {
    return train::read_metrics(directory / run.directory / "metrics.jsonl");
  } catch (const train::FileError&) {
    return {};  // the table says "-", the run's status why
  }
}

ordered_json number_or_null(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(); }

std::string baseline_of(const std::vector<VariantRuns>& groups) {
  const auto adam =
      std::find_if(groups.begin(), groups.end(), [](const auto& group) { return group.variant == "adam"; });
  return adam != groups.end() ? adam->variant : groups.front().variant;
}

}  // namespace

std::optional<double> seconds_to_reach(const std::vector<json>& lines, const std::string& metric, double target) {
  for (const json& line : lines) {
    const auto value = line.find(metric);
    const auto seconds = line.find("seconds");
    if (value == line.end() || !value->is_number() || seconds == line.end() || !seconds->is_number()) continue;
    if (!better(metric, target, value->get<double>())) return seconds->get<double>();
  }
  return {};
}

double step_seconds(const StudyRun& run) {
  const double fastest = run.number("step_seconds_min");
  return fastest > 0.0 ? fastest : kNan;
}

Comparison compare_runs(const Study& study, const std::filesystem::path& directory) {
  const auto groups = group_runs(pointers_to(study.runs));
  Comparison result;
  result.task = study.runs.front().task;
  result.metric = reported_metric(pointers_to(study.runs));
  result.window = study.runs.front().window;
  result.baseline = baseline_of(groups);

  std::map<std::uint64_t, double> targets;  // what the baseline ended with, by seed
  for (const auto& run : study.runs) {
    if (run.variant == result.baseline && run.done()) targets[run.seed] = run.mean(result.metric);
  }
  for (const auto& group : groups) {
    for (const auto& rate : group.rates) {
      ComparisonRow row;
      row.variant = group.variant;
      row.lr = rate.lr;
      std::vector<double> finals, times, steps, forward, backward;
      for (const auto* run : rate.runs) {
        row.done += run->done() ? 1U : 0U;
        row.diverged += run->diverged() ? 1U : 0U;
        row.failed += run->status == train::RunStatus::failed ? 1U : 0U;
        if (!run->finished()) continue;
        finals.push_back(run->mean(result.metric));
        if (const double seconds = step_seconds(*run); std::isfinite(seconds)) steps.push_back(seconds);
        forward.push_back(run->number("forward_passes"));
        backward.push_back(run->number("backward_passes"));
        if (const double peak = run->number("peak_memory_bytes"); peak > row.peak_memory_bytes) {
          row.peak_memory_bytes = peak;
        }
        const auto target = targets.find(run->seed);
        if (target == targets.end() || !std::isfinite(target->second)) continue;
        const auto seconds = seconds_to_reach(lines_of(*run, directory), result.metric, target->second);
        if (seconds) times.push_back(*seconds);
      }
      row.unfinished = rate.runs.size() - row.done - row.diverged - row.failed;
      row.final = spread(finals);
      row.reached = times.size();
      row.seconds_to_baseline = mean_of(times);
      row.step_seconds = steps.empty() ? kNan : *std::min_element(steps.begin(), steps.end());
      row.forward_passes = mean_of(forward);
      row.backward_passes = mean_of(backward);
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
