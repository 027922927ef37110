// Runs a plan, several runs at once, each in a process of its own (`lehi train --resume --out RUNDIR`), so that a crash
// loses one run only. Finished runs are not run again; stopped ones continue from their newest checkpoint. A launcher
// (launcher.h) starts the processes; the runner keeps phases, record and progress.
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
  mpi,    ///< processes on every rank of a program that mpirun, srun or torchrun started
};

struct RunnerRequest {
  std::filesystem::path directory;        ///< of the study; created if missing
  std::string kind;                       ///< "compare" or "sweep"
  std::vector<std::string> command_line;  ///< for the record
  std::string data_dir;                   ///< "" for the default
  LauncherKind launcher = LauncherKind::local;
  int jobs = 1;                                 ///< runs at once, at least 1; per rank with mpi; 0 with slurm: no limit
  StudyRanks* ranks = nullptr;                  ///< with mpi; this process is rank 0
  std::vector<std::string> slurm_options = {};  ///< arguments of sbatch
  bool resume = false;                          ///< continue the study if the directory has it already
  bool retry_failed = false;                    ///< run failed runs again
  bool terminal = false;                        ///< standard error is a terminal
  std::vector<SecondPhase> second_phases = {};  ///< of a two-phase study; the plan is its first phase
  /// Called before anything is written, if there are runs to start; throws if they can't work (missing data).
  std::function<void()> check = [] {};

  /// The program that runs a run: this one; tests use another.
  std::string program = "/proc/self/exe";
  std::vector<std::string> program_arguments = {"lehi"};
};

struct StudyOutcome {
  Study study;
  int signal = 0;       ///< the signal that stopped the study; 0: every run has ended
  int failed_code = 0;  ///< the exit code of the failed runs; 1 if they differ, 0 if none failed
};

/// Writes study.json and the config.toml of every run, and runs the plan, then the second phase if there is one.
/// Progress goes to `err`. Throws FileError, with nothing written, when the directory can't be written, holds anything
/// else, is used by another process, or holds this study and `resume` is false.
StudyOutcome run_study(const std::vector<PlannedRun>& plan, const RunnerRequest& request, std::ostream& err);

}  // namespace lehi::study
