// A run's own directory: what it says about the run, whatever state its files are in.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "files/files.h"
#include "study/json.h"
#include "study/study.h"
#include "train/json_file.h"
#include "train/metrics_log.h"

namespace lehi::study {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

bool is_metric(const std::string& key) { return key.ends_with("_loss") || key.ends_with("_accuracy"); }

// 0 where it is no count at all.
std::int64_t count_of(double value) {
  constexpr double most = 1e15;  // whole numbers up to here are exact
  return value > 0.0 ? static_cast<std::int64_t>(std::min(value, most)) : 0;
}

void clear_summary(StudyRun& run) {
  run.windows.clear();
  run.largest_gradient = kNan;
  run.eps_dominated = kNan;
  run.spike_steps = run.spike_evaluations = 0;
}

void summarise(StudyRun& run, const std::vector<json>& lines) {
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
    largest = std::max(largest, number_or_nan(line, "grad_inf_norm"));  // a NaN that comes second is passed over
    dominated += number_or_nan(line, "eps_dominated");
    const auto spikes = count_of(number_or_nan(line, "spikes"));
    run.spike_steps += spikes;
    run.spike_evaluations += spikes > 0 ? 1 : 0;
  }
  run.largest_gradient = largest > 0.0 ? largest : kNan;
  run.eps_dominated = dominated / static_cast<double>(lines.size());
}

// The totals also know of the steps after the last evaluation, which matter where a run diverged.
void add_totals(StudyRun& run) {
  if (const double largest = run.number("grad_inf_norm"); largest > 0.0) run.largest_gradient = largest;
  const auto spikes = count_of(run.number("spikes"));
  if (spikes <= run.spike_steps) return;
  run.spike_steps = spikes;
  ++run.spike_evaluations;
}

}  // namespace

fs::path run_directory(const StudyRun& run, const fs::path& study_directory) {
  if (!is_safe_name(run.directory)) {
    throw FileError(fmt::format("{} names a run's folder {}, which is no name of a folder beside it",
                                (study_directory / kStudyFile).string(), train::in_quotes(run.directory)));
  }
  auto path = study_directory / run.directory;
  std::error_code error;
  const auto found = fs::symlink_status(path, error);
  if (fs::is_symlink(found)) throw FileError(fmt::format("{} leads elsewhere: it is a symbolic link", path.string()));
  if (fs::exists(found) && !fs::is_directory(found)) {
    throw FileError(fmt::format("{} is no directory", path.string()));
  }
  return path;
}

fs::path run_file(const StudyRun& run, const fs::path& study_directory, const std::string& name) {
  auto path = run_directory(run, study_directory) / name;
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error))) {
    throw FileError(fmt::format("{} leads elsewhere: it is a symbolic link", path.string()));
  }
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
    if (run.finished()) summarise(run, train::read_metrics(metrics));
    add_totals(run);
    if (run.done() && run.windows.count(run.metric) == 0) {
      throw FileError(
          fmt::format("{} has no '{}', which the run is judged by (judge.metric)", metrics.string(), run.metric));
    }
  } catch (const std::exception& failure) {  // whatever a damaged file makes a library throw
    run.status = train::RunStatus::failed;
    run.message = failure.what();
  }
}

}  // namespace lehi::study
