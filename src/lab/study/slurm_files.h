// What a study keeps of its job arrays, in slurm/ of its directory: for every array that may still run, NAME.runs, the
// run of each task in a line of its own, written before sbatch is called, and NAME.job, the job's number, written
// after; task.sh, which every task runs; and a log a task, JOB_TASK.log. So a study that was killed, even while it
// submitted, finds its arrays again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "study/runner.h"

namespace lehi::study {

struct SlurmArray {
  std::string name;               ///< also the job's name in Slurm; no two arrays have the same
  std::vector<std::string> runs;  ///< by task
  std::string job;                ///< the number; "" when it is not known
};

/// The arrays that may still run. FileError for files that the study did not write.
std::vector<SlurmArray> read_arrays(const std::filesystem::path& study_directory);

/// A new array with a name of its own, without a job yet; also writes the script.
SlurmArray write_array(const std::filesystem::path& study_directory, std::vector<std::string> runs);
void write_job(const std::filesystem::path& study_directory, const SlurmArray& array);

/// An array that is over, or that was never submitted. Where nothing else is in slurm/, it goes too.
void forget_array(const std::filesystem::path& study_directory, const SlurmArray& array);

/// What sbatch is to run for an array: the script and its arguments.
std::vector<std::string> array_command(const RunnerRequest& request, const SlurmArray& array);

/// Where a task's output goes, and the last line there that says something ("" when there is none).
std::string task_log(const SlurmArray& array, std::size_t task);
std::string last_words(const std::filesystem::path& study_directory, const SlurmArray& array, std::size_t task);

/// Exit code of a task that does not see the study's directory.
inline constexpr int kNoStudyThere = 66;

}  // namespace lehi::study
