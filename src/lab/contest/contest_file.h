// Reads a contest file: which optimizers compete, on which tasks, by which protocol.
//
//   baseline = "adamw"                  # its steps are the contest's unit of time
//   challenger = "lehi-kron"
//   rivals = ["soap", "muon"]
//   classics = ["adam", "adamw", "lehi"]
//   probe = "kron-probe"                # the challenger with a curvature probe; may be missing
//   tuning_seeds = [0]                  # keys before the first [[arm]] are defaults of all tasks
//
//   [[arm]]
//   name = "whole-steps"
//   optimizer = "lehi-kron[step_factor=1.0]"  # as in `lehi sweep --optimizers`; without it, the name is the optimizer
//   label = "lehi-kron, whole steps"
//   control = true
//   rates = [3e-4, 1e-3, 3e-3]
//   knob = { key = "weight_decay", values = [0.0, 0.1] }
//
//   [[task]]
//   name = "gpt-small"
//   task = "ptb"
//   preset = "small"
//   steps = 800                         # of the baseline
//   seeds = [100, 101, 102]             # of the verdict
//   rates_of.soap = [1e-3, 3e-3, 1e-2]  # or `rates`, for all arms
//   replace.soap = "soap[sides=automatic]"  # the arm soap, as this task trains it
//   settings.train.batch_size = 16      # any key of `lehi train --help-config` that the protocol does not set
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contest/result.h"
#include "study/plan.h"

namespace lehi::contest {

/// The one hyperparameter beside the rate that an arm is tuned by.
struct Knob {
  std::string key;                  ///< without "optimizer."
  std::vector<std::string> values;  ///< as TOML
};

struct ArmSpec {
  std::string name;
  std::string optimizer;  ///< "lehi-kron[step_factor=1.0]", as train::parse_optimizer_choice() reads it
  std::string label;      ///< shown
  bool control = false;
  std::vector<double> rates;  ///< of tasks that name none for it
  std::optional<Knob> knob;
};

struct TaskSpec {
  std::string name;  ///< of the task in the contest and of its directory
  std::string title;
  std::string group;   ///< of a batch-size panel, or ""
  std::string task;    ///< of `lehi list tasks`
  std::string preset;  ///< "": "small"
  std::int64_t steps = 0;
  std::vector<std::uint64_t> tuning_seeds;
  std::vector<std::uint64_t> seeds;
  double effect = 0.01;
  std::int64_t speed_steps = 0;  ///< of a run that measures the time of a step; as many as `steps` if the file has none
  std::int64_t speed_rounds = 5;
  std::vector<std::string> speed_up;  ///< arms
  std::size_t speed_up_seeds = 3;     ///< the first ones of `seeds`; 0: no speed-up is measured
  std::vector<std::string> arms;      ///< in the file's order
  std::map<std::string, std::vector<double>> rates_of;
  std::map<std::string, std::string> optimizer_of;  ///< of each arm, as this task trains it
  std::vector<train::Setting> settings;
  study::Origin origin;
};

struct Contest {
  std::string baseline;
  Question question;
  std::vector<ArmSpec> arms;
  std::vector<TaskSpec> tasks;

  const ArmSpec& arm(std::string_view name) const;  ///< which exists
};

/// Throws train::ConfigError, naming file and line, for invalid TOML, unknown keys, values of the wrong type, names
/// that don't exist, and tuning seeds that are seeds of the verdict too. Keys of `settings` are checked by
/// check_task_plan().
Contest parse_contest(std::string_view text, const std::string& where);

/// The contest with these tasks and arms only, in the file's order; an empty list means all of them. Throws
/// std::invalid_argument for a name that the contest does not have, and when a task lacks the baseline.
Contest restricted(const Contest& contest, const std::vector<std::string>& tasks, const std::vector<std::string>& arms);

/// The names of the built-in files: "full", "small".
std::vector<std::string> built_in_contests();

/// The text of a built-in file, or of a file of that path.
std::string contest_text(const std::string& name_or_path);

}  // namespace lehi::contest
