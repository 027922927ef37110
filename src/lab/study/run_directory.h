// The directory of a run inside its study, and what its files say about the run.
#pragma once

#include <filesystem>
#include <string>

#include "study/study.h"

namespace lehi::study {

/// The run's directory, and a file in it. Both throw FileError for names that are not plain (base::is_safe_name) and
/// for symbolic links, so that nothing in a study's files makes the program read or write outside the study.
std::filesystem::path run_directory(const StudyRun& run, const std::filesystem::path& study_directory);
std::filesystem::path run_file(const StudyRun& run, const std::filesystem::path& study_directory,
                               const std::string& name);

/// Updates status, windows and result from the run's directory. A run without run.json is waiting; a run with damaged
/// files has failed, with the reason as its message. Does not throw.
void read_run(StudyRun& run, const std::filesystem::path& study_directory);

}  // namespace lehi::study
