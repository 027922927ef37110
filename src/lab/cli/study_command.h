// Runs the study of `lehi compare` and `lehi sweep`.
#pragma once

#include <functional>
#include <iosfwd>

#include "cli/study_flags.h"
#include "study/runner.h"

namespace lehi::cli {

/// Runs or resumes the study and calls `show` with the result, unless a signal stopped it. Returns the exit code: 128
/// plus the signal's number; if runs failed, their exit code if they agree, else 1; otherwise 0.
int run_study_command(const StudyConfig& config, std::ostream& err,
                      const std::function<void(const study::Study&)>& show);

}  // namespace lehi::cli
