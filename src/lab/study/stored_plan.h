// The plan of a study on disk: restored, and compared with another plan.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/study.h"

namespace lehi::study {

/// The first phase of a study's plan, from study.json and the config.toml of every run. FileError where one is missing.
std::vector<PlannedRun> read_plan(const std::filesystem::path& directory, const Study& study);

/// How the study in `directory` differs from a plan, as the end of a sentence ("it has 3 runs and this one 4"); "" when
/// they are equal.
std::string plan_difference(const std::filesystem::path& directory, const Study& stored,
                            const std::vector<PlannedRun>& plan, const std::vector<SecondPhase>& second_phases = {});

}  // namespace lehi::study
