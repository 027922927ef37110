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
  std::string optimizers;
  std::string seeds;
  std::string rates;
  int jobs = 0;  ///< 0: as many as there are cores
  std::string out;
  bool resume = false;
  bool retry_failed = false;
};

/// A study that was chosen on the command line.
struct StudyConfig {
  std::string kind;                     ///< the command's name
  std::vector<study::PlannedRun> plan;  ///< empty: that of the directory, which is resumed
  std::string directory;
  std::string data_dir;
  int jobs = 1;
  bool resume = false;
  bool retry_failed = false;
  bool json = false;
  Arguments arguments;  ///< as given, for the record

  /// What runs a run; tests put another program here.
  std::string program = study::RunnerRequest().program;
  std::vector<std::string> program_arguments = study::RunnerRequest().program_arguments;
};

/// All but the tasks and the rates. The defaults are shown in the help.
void add_study_flags(CLI::App& app, StudyFlags& flags);

/// The study that the flags choose. Throws for everything wrong; touches no file but --config.
StudyConfig study_config(const StudyFlags& flags, const std::string& kind, study::Rates default_rates,
                         const Arguments& arguments);

/// Runs it. Where it was stopped or a run failed, says so and returns the exit code; else calls `show` with the study
/// and its directory and returns done.
int run_study_command(const StudyConfig& config, std::ostream& err,
                      const std::function<void(const study::Study&)>& show);

}  // namespace lehi::cli
