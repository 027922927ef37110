// study.json: the runs of a study and their results. Written when a study starts and after every run, so that a study
// that was stopped at any moment can be shown and continued. It contains everything that tables need; the directories
// of the runs have the rest.
#pragma once

#include <filesystem>

#include "study/study.h"

namespace lehi::study {

inline constexpr const char* kStudyFile = "study.json";

void write_study(const std::filesystem::path& directory, const Study& study);

/// FileError naming file and key for a missing or invalid value and for a newer schema. An invalid entry of `runs` does
/// not throw: it becomes a `damaged` run. An unknown key does not throw either, it is reported in `unknown_key`: such a
/// study can be shown, but not continued, since the key may determine what is run.
Study read_study(const std::filesystem::path& directory);

}  // namespace lehi::study
