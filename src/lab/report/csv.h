// CSV with a row for each run, for spreadsheets and data frames.
#pragma once

#include <string>

#include "report/study_report.h"

namespace lehi::report {

/// RFC 4180 with a header: study, run, task, preset, optimizer, variant, lr, seed, status, metric, window_mean,
/// window_two_std, score, seconds, steps, ... Unknown numbers are empty. A string that a spreadsheet would take for a
/// formula gets a leading apostrophe.
std::string runs_csv(const Studies& studies);

}  // namespace lehi::report
