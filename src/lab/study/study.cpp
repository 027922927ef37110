#include "study/study.h"

#include <utility>

#include "study/json.h"

namespace lehi::study {
namespace {

constexpr std::string_view kWaiting = "waiting";

std::string replace_prefix(const std::string& metric, std::string_view from, std::string_view to) {
  return metric.starts_with(from) ? std::string(to) + metric.substr(from.size()) : metric;
}

bool all_have(const std::vector<const StudyRun*>& runs, const std::string& metric) {
  bool any = false;
  for (const auto* run : runs) {
    if (!run->done()) continue;
    any = true;
    if (run->windows.count(metric) == 0) return false;
  }
  return any;
}

}  // namespace

double StudyRun::mean(const std::string& of_metric) const {
  const auto found = windows.find(of_metric);
  return done() && found != windows.end() ? found->second.mean : kNan;
}

double StudyRun::score(const std::string& of_metric) const {
  const auto found = windows.find(of_metric);
  return done() && found != windows.end() ? found->second.score : kNan;
}

double StudyRun::number(const char* key) const { return number_or_nan(result, key); }

std::string_view status_text(const StudyRun& run) { return run.status ? train::status_name(*run.status) : kWaiting; }

StudyRun waiting_run(const PlannedRun& planned) {
  const auto& config = planned.config;
  StudyRun run;
  run.task = config.task;
  run.preset = config.preset;
  run.optimizer = config.optimizer.name;
  run.variant = planned.variant;
  run.lr = config.optimizer.group.lr;
  run.seed = config.seed;
  run.directory = planned.directory;
  run.metric = config.judge.metric;
  run.window = config.judge.window;
  run.largest_gradient = run.eps_dominated = kNan;
  return run;
}

Study new_study(std::string kind, std::vector<std::string> command_line, const std::vector<PlannedRun>& plan) {
  Study study;
  study.kind = std::move(kind);
  study.command_line = std::move(command_line);
  study.started = train::utc_now();
  study.runs.reserve(plan.size());
  for (const auto& run : plan) study.runs.push_back(waiting_run(run));
  return study;
}

std::string selection_metric(const std::vector<const StudyRun*>& runs) {
  if (runs.empty()) return "";
  const auto validation = replace_prefix(runs.front()->metric, "test_", "validation_");
  return all_have(runs, validation) ? validation : runs.front()->metric;
}

std::string reported_metric(const std::vector<const StudyRun*>& runs) {
  if (runs.empty()) return "";
  const auto test = replace_prefix(runs.front()->metric, "validation_", "test_");
  return all_have(runs, test) ? test : runs.front()->metric;
}

}  // namespace lehi::study
