#include "study/study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "files/files.h"
#include "study/json.h"

namespace lehi::study {
namespace {

constexpr std::string_view kWaiting = "waiting";

// "protein: the best 3 with seeds 1, 2"
std::string second_phase_text(const SecondPhase& second) {
  return fmt::format("{}: the best {} with seeds {}", short_task(second.task), second.best,
                     fmt::join(second.seeds, ", "));
}

std::string other_part(const std::string& metric, std::string_view from, std::string_view to) {
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
  for (const auto& run : plan) study.runs.push_back(waiting_run(run));
  return study;
}

std::vector<PlannedRun> read_plan(const std::filesystem::path& directory, const Study& study) {
  std::vector<PlannedRun> plan;
  for (const auto& run : study.runs) {
    if (run.phase != 1) continue;
    const auto file = run_file(run, directory, "config.toml");
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
      throw FileError(
          fmt::format("{} is missing: the study was stopped while it began, or was damaged; repeat the whole command "
                      "that began it, with --resume",
                      file.string()));
    }
    plan.push_back({.directory = run.directory, .variant = run.variant, .config = train::read_config(file)});
  }
  return plan;
}

std::string plan_difference(const std::filesystem::path& directory, const Study& there,
                            const std::vector<PlannedRun>& here, const std::vector<SecondPhase>& seconds) {
  if (there.seconds.empty() != seconds.empty()) {
    return there.seconds.empty() ? "it runs every rate with every seed and this one has two phases"
                                 : "it has two phases and this one runs every rate with every seed";
  }
  std::vector<const StudyRun*> runs;
  for (const auto& run : there.runs) {
    if (run.phase == 1) runs.push_back(&run);
  }
  if (runs.size() != here.size()) return fmt::format("it has {} runs and this one {}", runs.size(), here.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    const auto& run = *runs[i];
    const auto& [name, variant, config] = here[i];
    if (run.directory != name || run.variant != variant) {
      return fmt::format("its run {} is {} and this one's {}", i + 1, run.directory, name);
    }
    if (run.metric != config.judge.metric || run.window != config.judge.window) {
      return fmt::format("it is judged by {} over {} evaluations and this one by {} over {}", run.metric, run.window,
                         config.judge.metric, config.judge.window);
    }
    const auto file = run_file(run, directory, "config.toml");
    if (!std::filesystem::exists(file)) continue;  // the study was stopped before it had written all of them
    const auto difference = train::difference(train::read_config(file), config);
    if (!difference.empty()) return fmt::format("in {}, {}", name, difference);
  }
  for (std::size_t i = 0; i < std::max(seconds.size(), there.seconds.size()); ++i) {
    const auto text = [i](const auto& list) { return i < list.size() ? second_phase_text(list[i]) : "none"; };
    if (text(there.seconds) != text(seconds)) {
      return fmt::format("its second phase is {} and this one's {}", text(there.seconds), text(seconds));
    }
  }
  return "";
}

std::string selection_metric(const std::vector<const StudyRun*>& runs) {
  if (runs.empty()) return "";
  const auto validation = other_part(runs.front()->metric, "test_", "validation_");
  return all_have(runs, validation) ? validation : runs.front()->metric;
}

std::string reported_metric(const std::vector<const StudyRun*>& runs) {
  if (runs.empty()) return "";
  const auto test = other_part(runs.front()->metric, "validation_", "test_");
  return all_have(runs, test) ? test : runs.front()->metric;
}

}  // namespace lehi::study
