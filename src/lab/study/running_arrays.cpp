#include "study/running_arrays.h"

#include <fmt/format.h>

#include <utility>

#include "files/files.h"

namespace lehi::study {
namespace fs = std::filesystem;

std::vector<RunningArray> find_running_arrays(const fs::path& study_directory) {
  std::vector<RunningArray> running;
  for (auto& array : read_arrays(study_directory)) {
    SlurmTasks tasks;
    try {
      if (array.job.empty()) array.job = find_array(array.name).value_or("");
      if (!array.job.empty()) tasks = query_tasks(array.job);
    } catch (const SlurmUnavailable& failure) {
      throw FileError(
          fmt::format("can't determine whether Slurm's job array {} of the study in {} still runs: {}; try again where "
                      "Slurm answers",
                      array.job.empty() ? array.name : array.job, study_directory.string(), failure.what()));
    }
    std::erase_if(tasks, [&](const auto& entry) { return entry.second.ended() || entry.first >= array.runs.size(); });
    if (tasks.empty()) {
      remove_array(study_directory, array);
    } else {
      running.push_back({std::move(array), std::move(tasks)});
    }
  }
  return running;
}

void throw_while_slurm_runs(const fs::path& study_directory) {
  if (read_arrays(study_directory).empty()) return;
  const auto running = find_running_arrays(study_directory);
  if (running.empty()) return;
  const auto& [array, tasks] = running.front();
  throw FileError(fmt::format(
      "Slurm's job {} still has {} run{} of the study in {}; continue it with --launcher slurm, or `scancel "
      "{}` first",
      array.job, tasks.size(), tasks.size() == 1 ? "" : "s", study_directory.string(), array.job));
}

}  // namespace lehi::study
