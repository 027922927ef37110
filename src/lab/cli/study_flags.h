// The flags of `lehi compare` and `lehi sweep`, and the study that they define.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/run_flags.h"
#include "study/plan.h"
#include "study/runner.h"

namespace lehi::cli {

struct StudyFlags {
  RunFlags run;  ///< without its task: a study may have several
  std::vector<std::string> tasks;
  std::string optimizers;  ///< set this and the seeds to their defaults before add_study_flags()
  std::string seeds;
  std::string rates;
  std::size_t best = 0;  ///< --best, for two phases; 0: one phase
  std::string study;     ///< --study: a file with tasks, optimizers, rates, seeds and settings
  int jobs = 0;          ///< 0: the launcher's default
  std::string launcher = "local";
  std::vector<std::string> slurm_options;
  std::string out;
  bool resume = false;
  bool retry_failed = false;
  std::vector<std::string> given;  ///< which of --optimizers and --seeds were given
};

/// A study as defined by the command line.
struct StudyConfig {
  std::string kind;                               ///< the command's name
  std::vector<study::PlannedRun> plan;            ///< the first phase; empty: resume the plan of the directory
  std::vector<study::SecondPhase> second_phases;  ///< the second phase, one entry per task; empty: one phase
  std::string directory;
  std::string data_dir;
  study::LauncherKind launcher = study::LauncherKind::local;
  std::vector<std::string> slurm_options;
  int jobs = 1;
  bool resume = false;
  bool retry_failed = false;
  bool json = false;
  Arguments arguments;  ///< as given; recorded in study.json

  /// The program that executes a run. Tests replace it.
  std::string program = study::RunnerRequest().program;
  std::vector<std::string> program_arguments = study::RunnerRequest().program_arguments;
};

/// The title of these flags in the help text.
inline constexpr const char* study_group = "Study";

/// "local", "slurm" or "mpi".
std::string_view launcher_name(study::LauncherKind launcher);

/// Adds all flags except the tasks.
void add_study_flags(CLI::App& app, StudyFlags& flags);

/// The study that the flags define. Throws UsageError or std::invalid_argument. Reads --config and --study; writes
/// nothing.
StudyConfig study_config(const StudyFlags& flags, const std::string& kind, study::Rates default_rates,
                         const Arguments& arguments);

}  // namespace lehi::cli
