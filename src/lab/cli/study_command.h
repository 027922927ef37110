// Runs the study of `lehi compare` and `lehi sweep`.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/study_flags.h"
#include "study/runner.h"

namespace lehi::cli {

/// Loads each task's data once before anything is written, so that missing or damaged data is reported once and not by
/// every run. This also puts the tokens of a text into the cache for the runs.
void check_data(const std::vector<study::PlannedRun>& plan, const std::string& data_dir, std::ostream& err);

/// Runs or resumes the study and calls `show` with the result, unless a signal stopped it. Returns the exit code: 128
/// plus the signal's number; if runs failed, their exit code if they agree, else 1; otherwise 0.
int run_study_command(const StudyConfig& config, std::ostream& err,
                      const std::function<void(const study::Study&)>& show);

}  // namespace lehi::cli
