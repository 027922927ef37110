// Every run of studies as a row of a CSV file, for spreadsheets and data frames.
#pragma once

#include <string>

#include "report/study_report.h"

namespace lehi::report {

/// RFC 4180 with a header: study, run, task, preset, optimizer, variant, lr, seed, status, metric, window_mean,
/// window_two_std, score, seconds, steps, ... Numbers that are not known are empty. A text that a spreadsheet would
/// take for a formula gets an apostrophe in front.
std::string runs_csv(const Studies& studies);

}  // namespace lehi::report
