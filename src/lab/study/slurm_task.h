// One task of a job array: the progress of its run, and how it ended.
#pragma once

#include <filesystem>
#include <optional>

#include "study/launcher.h"
#include "study/slurm.h"
#include "study/slurm_files.h"

namespace lehi::study {

/// The progress of a run on another machine, from the files in its directory; nothing before its first evaluation.
std::optional<ProgressLine> read_progress(const std::filesystem::path& run_directory);

/// How the run of a task ended, from what Slurm reports and the task's log.
RunEnd describe_end(const std::filesystem::path& study_directory, const SlurmArray& array, std::size_t task,
                    const SlurmEnd& slurm);

}  // namespace lehi::study
