// The job arrays of a study that still wait or run when the study is resumed.
#pragma once

#include <filesystem>
#include <vector>

#include "study/slurm.h"
#include "study/slurm_files.h"

namespace lehi::study {

struct RunningArray {
  SlurmArray array;
  SlurmTasks tasks;  ///< those that wait or run
};

/// Also removes the files of arrays that have ended. FileError when the controller does not answer.
std::vector<RunningArray> find_running_arrays(const std::filesystem::path& study_directory);

/// FileError while tasks of the study's arrays wait or run; for a study that is resumed with another launcher.
void throw_while_slurm_runs(const std::filesystem::path& study_directory);

}  // namespace lehi::study
