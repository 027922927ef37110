// What `lehi compare` and `lehi sweep` share: the flags that choose a study, and running it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/run_flags.h"
#include "study/plan.h"
#include "study/runner.h"

namespace lehi::cli {

struct StudyFlags {
  RunFlags run;  ///< its task is not used: a study may have several
  std::vector<std::string> tasks;
  std::string optimizers;  ///< set to its default before add_study_flags(); so are the seeds
  std::string seeds;
  std::string rates;
  std::size_t best = 0;  ///< --best: two phases; 0: one
  std::string study;     ///< --study: a file that chooses everything but where and how it runs
  int jobs = 0;          ///< 0: as the launcher has it
  std::string launcher = "local";
  std::vector<std::string> slurm_options;
  std::string out;
  bool resume = false;
  bool retry_failed = false;
  std::vector<std::string> chose_runs;  ///< which of --optimizers and --seeds were given
};

/// A study that was chosen on the command line.
struct StudyConfig {
  std::string kind;                         ///< the command's name
  std::vector<study::PlannedRun> plan;      ///< of the first phase; empty: that of the directory, which is resumed
  std::vector<study::SecondPhase> seconds;  ///< of a two-phase study
  std::string directory;
  std::string data_dir;
  study::LauncherKind launcher = study::LauncherKind::local;
  std::vector<std::string> slurm_options;
  int jobs = 1;
  bool resume = false;
  bool retry_failed = false;
  bool json = false;
  Arguments arguments;  ///< as given, for the record

  /// What runs a run; tests put another program here.
  std::string program = study::RunnerRequest().program;
  std::vector<std::string> program_arguments = study::RunnerRequest().program_arguments;
};

/// All but the tasks. The defaults are shown in the help.
void add_study_flags(CLI::App& app, StudyFlags& flags);

/// The study that the flags choose. Throws for everything wrong; touches no file but --config.
StudyConfig study_config(const StudyFlags& flags, const std::string& kind, study::Rates default_rates,
                         const Arguments& arguments);

/// Runs it and calls `show` with what came out. Returns the exit code: of a study that was stopped, which is not shown,
/// 128 and the signal; of one where runs failed, what they agree on, else 1.
int run_study_command(const StudyConfig& config, std::ostream& err,
                      const std::function<void(const study::Study&)>& show);

}  // namespace lehi::cli
