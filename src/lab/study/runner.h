// Runs a plan: every run a process of its own (`lehi train --resume --out RUNDIR`), several at once, so that a crash
// loses one run and nothing else. Finished runs are not run again, stopped ones go on from their newest checkpoint.
// Where the processes run is a launcher's business (launcher.h); phases, record and progress are the runner's.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "study/plan.h"
#include "study/study.h"

namespace lehi::study {

class StudyRanks;

enum class LauncherKind {
  local,  ///< processes of this machine
  slurm,  ///< tasks of a job array
  mpi,    ///< processes of every rank of a program that mpirun, srun or torchrun started
};

struct RunnerRequest {
  std::filesystem::path directory;        ///< of the study; created
  std::string kind;                       ///< "compare" or "sweep"
  std::vector<std::string> command_line;  ///< for the record
  std::string data_dir;                   ///< "" for the default
  LauncherKind launcher = LauncherKind::local;
  int jobs = 1;                 ///< runs at once, at least 1; of a rank with mpi; with slurm 0 stands for no limit
  StudyRanks* ranks = nullptr;  ///< of mpi; this process is rank 0
  std::vector<std::string> slurm_options = {};  ///< for sbatch, each an argument of its own
  bool resume = false;                          ///< a directory that holds this study already is fine
  bool retry_failed = false;                    ///< run again what failed before
  bool terminal = false;                        ///< standard error is one
  std::vector<SecondPhase> seconds = {};        ///< of a two-phase study, whose first phase the plan is
  /// Called before anything is written when there is something to run; throws what makes it pointless (missing data).
  std::function<void()> check = [] {};

  /// What runs a run: this very program; tests put another one here.
  std::string program = "/proc/self/exe";
  std::vector<std::string> program_arguments = {"lehi"};
};

struct StudyOutcome {
  Study study;
  int signal = 0;       ///< that stopped it; 0: every run has ended
  int failed_code = 0;  ///< exit code that the failed runs agree on, 1 when they do not; 0: none failed
};

/// Writes the directory (config.toml of every run, study.json) and runs the plan, then the second phase if there is
/// one. Progress goes to `err`. Throws FileError, having written nothing, when the directory can't be written,
/// holds something else, is in use by another study, or holds this study and `resume` is false.
StudyOutcome run_study(const std::vector<PlannedRun>& plan, const RunnerRequest& request, std::ostream& err);

}  // namespace lehi::study
