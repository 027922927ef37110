// The files that a study keeps about its job arrays, in slurm/ of its directory. For every array that may still run:
// NAME.runs, the run of each task on a line of its own, written before sbatch is called; and NAME.job, the job number,
// written afterwards. Also task.sh, which every task runs, and one log per task, JOB_TASK.log. With these files a study
// finds its arrays again, even if it was killed while it submitted them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/runner.h"

namespace lehi::study {

struct SlurmArray {
  std::string name;               ///< also the name of the job in Slurm; unique
  std::vector<std::string> runs;  ///< by task
  std::string job;                ///< the job number; "" while it is not known
};

/// The arrays that may still run. FileError for files that no study wrote.
std::vector<SlurmArray> read_arrays(const std::filesystem::path& study_directory);

/// Creates an array with a unique name and without a job number; also writes the script.
SlurmArray write_array(const std::filesystem::path& study_directory, std::vector<std::string> runs);
void write_job(const std::filesystem::path& study_directory, const SlurmArray& array);

/// Removes the files of an array that has ended or was never submitted, and slurm/ if nothing else is in it.
void remove_array(const std::filesystem::path& study_directory, const SlurmArray& array);

/// The command that sbatch runs for an array: the script and its arguments.
std::vector<std::string> array_command(const RunnerRequest& request, const SlurmArray& array);

/// The last line of a task's log that is not blank; "" if there is none.
std::string last_log_line(const std::filesystem::path& study_directory, const SlurmArray& array, std::size_t task);

/// Exit code of a task on whose node the study's directory is missing.
inline constexpr int kNoStudyDirectory = 66;

}  // namespace lehi::study
