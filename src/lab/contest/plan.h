// The runs of a contest's phases: each with its complete configuration and a directory name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contest/contest_file.h"

namespace lehi::contest {

/// One setting of an arm, run with every seed of its phase.
struct Entry {
  std::string arm;
  double lr = 0.0;
  std::string knob;  ///< "optimizer.weight_decay=0.1"; "": the optimizer's own value
  std::int64_t steps = 0;
};

/// The steps that take as long as `steps` of the baseline's, at least one.
std::int64_t equal_time_steps(std::int64_t steps, double ratio);

/// "optimizer.weight_decay=0.1", as Trial and Entry name it.
std::string knob_text(const Knob& knob, const std::string& value);

/// The optimizer as `lehi sweep --optimizers` names it: "soap[sides=automatic,weight_decay=0.1]".
std::string optimizer_text(const TaskSpec& task, const std::string& arm, const std::string& knob);

/// Every entry with every seed, seeds outermost: warm-up over 5 % of the steps, linear decay to 0, one evaluation at
/// the end. Throws train::ConfigError, naming file and line of the task, for settings that are invalid.
std::vector<study::PlannedRun> plan_runs(const TaskSpec& task, const std::vector<Entry>& entries,
                                         const std::vector<std::uint64_t>& seeds);

/// Plans the trials of all arms, to find invalid settings before anything is run. Returns a plan whose runs need all
/// data that the task needs.
std::vector<study::PlannedRun> check_task_plan(const Contest& contest, const TaskSpec& task,
                                               const std::vector<std::string>& selected);

/// The metrics that a task is tuned by and reported with, from its judge.metric: "validation_loss", "test_loss".
std::string tuning_metric(std::string_view judged_by);
std::string reported_metric(std::string_view judged_by);

}  // namespace lehi::contest
