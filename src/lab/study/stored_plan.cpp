#include "study/stored_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/names.h"
#include "files/files.h"
#include "study/run_directory.h"

namespace lehi::study {
namespace {

// "protein: the best 3 with seeds 1, 2"
std::string second_phase_text(const SecondPhase& second) {
  return fmt::format("{}: the best {} with seeds {}", base::short_task(second.task), second.best,
                     fmt::join(second.seeds, ", "));
}

std::string second_phase_difference(const std::vector<SecondPhase>& stored, const std::vector<SecondPhase>& planned) {
  const auto text = [](const auto& phases, std::size_t i) {
    return i < phases.size() ? second_phase_text(phases[i]) : "none";
  };
  for (std::size_t i = 0; i < std::max(stored.size(), planned.size()); ++i) {
    if (text(stored, i) != text(planned, i)) {
      return fmt::format("its second phase is {} and this one's {}", text(stored, i), text(planned, i));
    }
  }
  return "";
}

}  // namespace

std::vector<PlannedRun> read_plan(const std::filesystem::path& directory, const Study& study) {
  std::vector<PlannedRun> plan;
  plan.reserve(study.runs.size());
  for (const auto& run : study.runs) {
    if (run.phase != 1) continue;
    const auto file = run_file(run, directory, "config.toml");
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
      throw FileError(
          fmt::format("{} is missing: the study was damaged, or stopped before all its files were written; repeat the "
                      "complete command that started it, with --resume",
                      file.string()));
    }
    plan.push_back({.directory = run.directory, .variant = run.variant, .config = train::read_config(file)});
  }
  return plan;
}

std::string plan_difference(const std::filesystem::path& directory, const Study& stored,
                            const std::vector<PlannedRun>& plan, const std::vector<SecondPhase>& second_phases) {
  if (stored.second_phases.empty() != second_phases.empty()) {
    return stored.second_phases.empty() ? "it runs every rate with every seed and this one has two phases"
                                        : "it has two phases and this one runs every rate with every seed";
  }
  std::vector<const StudyRun*> runs;
  for (const auto& run : stored.runs) {
    if (run.phase == 1) runs.push_back(&run);
  }
  if (runs.size() != plan.size()) return fmt::format("it has {} runs and this one {}", runs.size(), plan.size());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto& run = *runs[i];
    const auto& [name, variant, config] = plan[i];
    if (run.directory != name || run.variant != variant) {
      return fmt::format("its run {} is {} and this one's {}", i + 1, run.directory, name);
    }
    if (run.metric != config.judge.metric || run.window != config.judge.window) {
      return fmt::format("it is judged by {} over {} evaluations and this one by {} over {}", run.metric, run.window,
                         config.judge.metric, config.judge.window);
    }
    const auto file = run_file(run, directory, "config.toml");
    if (!std::filesystem::exists(file)) continue;  // the study was stopped before all its files were written
    const auto difference = train::difference(train::read_config(file), config);
    if (!difference.empty()) return fmt::format("in {}, {}", name, difference);
  }
  return second_phase_difference(stored.second_phases, second_phases);
}

}  // namespace lehi::study
