// One task of a contest from its first phase to its last: the time of a step, the rates, the knob, the verdict, the
// speed-up. Every decision is made from the runs' records, so a contest that was stopped goes on with the same choices.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "contest/contest_file.h"
#include "study/study.h"

namespace lehi::contest {

/// A study of one phase.
struct PhaseStudy {
  std::string title;  ///< "gpt-small, rates"
  std::filesystem::path directory;
  std::vector<study::PlannedRun> plan;
  bool in_turn = false;  ///< one run at a time, because its time matters
};

/// Where studies come from: they are run, or only read.
struct StudySource {
  /// Whether new studies may be started now; false after a signal.
  std::function<bool()> may_start = [] { return false; };
  /// The study with what has been run. Its runs are those of the plan, in the plan's order.
  std::function<study::Study(const PhaseStudy&)> get;
};

/// A source that reads what is there and runs nothing.
StudySource stored_studies();

struct TaskOutcome {
  TaskResult result;
  std::vector<std::string> missing;  ///< one sentence each
};

/// The last phase to run.
enum class Until { speed, end };

/// Runs all phases for `selected` and for the arms that were begun before; calls `after_phase` after each.
/// `directory` is the task's own. Throws what the source throws.
TaskOutcome run_task(const Contest& contest, const TaskSpec& task, const std::vector<std::string>& selected,
                     const std::filesystem::path& directory, const StudySource& source,
                     const std::function<void(const TaskOutcome&)>& after_phase, Until until = Until::end);

}  // namespace lehi::contest
