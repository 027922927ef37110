#include "study/run_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "files/files.h"
#include "study/json.h"
#include "study/study_file.h"
#include "train/json_file.h"
#include "train/metrics_log.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

bool is_metric(const std::string& key) { return key.ends_with("_loss") || key.ends_with("_accuracy"); }

// A number as a count; 0 for negative numbers and NaN.
std::int64_t to_count(double value) {
  constexpr double largest = 1e15;  // doubles represent integers up to here exactly
  return value > 0.0 ? static_cast<std::int64_t>(std::min(value, largest)) : 0;
}

void clear_summary(StudyRun& run) {
  run.windows.clear();
  run.largest_gradient = kNan;
  run.eps_dominated = kNan;
  run.spike_steps = run.spike_evaluations = 0;
}

void summarise_metrics(StudyRun& run, const std::vector<json>& lines) {
  clear_summary(run);
  if (lines.empty()) return;
  if (run.done()) {
    for (const auto& [key, value] : lines.back().items()) {
      if (!is_metric(key)) continue;
      if (auto window = window_of(lines, key, run.window)) run.windows[key] = std::move(*window);
    }
  }
  double dominated = 0.0;
  double largest = 0.0;
  for (const json& line : lines) {
    largest = std::max(largest, number_or_nan(line, "grad_inf_norm"));  // max(x, NaN) is x
    dominated += number_or_nan(line, "eps_dominated");
    const auto spikes = to_count(number_or_nan(line, "spikes"));
    run.spike_steps += spikes;
    run.spike_evaluations += spikes > 0 ? 1 : 0;
  }
  run.largest_gradient = largest > 0.0 ? largest : kNan;
  run.eps_dominated = dominated / static_cast<double>(lines.size());
}

// The totals include the steps after the last evaluation, which matter for a diverged run.
void add_totals(StudyRun& run) {
  if (const double largest = run.number("grad_inf_norm"); largest > 0.0) run.largest_gradient = largest;
  const auto spikes = to_count(run.number("spikes"));
  if (spikes <= run.spike_steps) return;
  run.spike_steps = spikes;
  ++run.spike_evaluations;
}

void throw_if_link(const fs::path& path) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    throw FileError(fmt::format("{} is a symbolic link, which a study's directory must not contain", path.string()));
  }
}

}  // namespace

fs::path run_directory(const StudyRun& run, const fs::path& study_directory) {
  if (!base::is_safe_name(run.directory)) {
    throw FileError(fmt::format("{} names the run directory {}, which is not a plain directory name",
                                (study_directory / kStudyFile).string(), train::in_quotes(run.directory)));
  }
  auto path = study_directory / run.directory;
  throw_if_link(path);
  std::error_code error;
  const auto found = fs::status(path, error);
  if (fs::exists(found) && !fs::is_directory(found)) {
    throw FileError(fmt::format("{} is not a directory", path.string()));
  }
  return path;
}

fs::path run_file(const StudyRun& run, const fs::path& study_directory, const std::string& name) {
  auto path = run_directory(run, study_directory) / name;
  throw_if_link(path);
  return path;
}

void read_run(StudyRun& run, const fs::path& study_directory) {
  run.status.reset();
  run.message.clear();
  run.result = json::object();
  clear_summary(run);
  try {
    const auto path = run_file(run, study_directory, "run.json");
    std::error_code error;
    if (!fs::exists(path, error)) return;
    const auto record = train::read_run_record(path);
    run.status = record.status;
    run.message = record.message;
    run.result = record.result;
    const auto metrics = run_file(run, study_directory, "metrics.jsonl");
    if (run.finished()) summarise_metrics(run, train::read_metrics(metrics));
    add_totals(run);
    if (run.done() && run.windows.count(run.metric) == 0) {
      throw FileError(
          fmt::format("{} has no '{}', the metric that judge.metric of the run names", metrics.string(), run.metric));
    }
  } catch (const std::exception& failure) {  // damaged files also make libraries throw
    run.status = train::RunStatus::failed;
    run.message = failure.what();
  }
}

}  // namespace lehi::study
