// Which pictures a contest's report has, and their names. For contest_document.cpp and contest_figures.cpp.
#pragma once

#include <string>

#include "plot/figure.h"
#include "report/contest_analysis.h"

namespace lehi::report {

/// File names without ".svg": the task's name; the panel's group with "-batch-sizes".
std::string picture_name(const contest::TaskResult& task);
std::string picture_name(const BatchPanel& panel);

/// True with anything to draw.
bool has_picture(const TaskAnalysis& task);
bool has_picture(const BatchPanel& panel);

/// The metric at equal time, best first, and the paired differences from the challenger, with 95 % intervals; where it
/// was measured, the speed-up.
plot::Figure task_figure(const TaskAnalysis& task, const std::string& challenger);

/// The advantage over the baseline by batch size with 95 % intervals.
plot::Figure panel_figure(const BatchPanel& panel, const std::string& challenger);

}  // namespace lehi::report
