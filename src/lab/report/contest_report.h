// The report of a contest: who won, task by task, with tables and pictures. Everything is computed from a
// contest::Result (contest_analysis.h), also when parts of it are missing.
#pragma once

#include <string>
#include <vector>

#include "contest/result.h"
#include "report/document.h"
#include "report/figures.h"

namespace lehi::report {

/// The verdict sentences, the answers to the contest's questions, and for each task its tables; then the protocol.
/// With `pictures`, the directory of the pictures' files relative to the document ("contest/"; "./" for the same one),
/// each task shows its picture NAME.svg, as named by contest_figures().
Document contest_document(const contest::Result& result, const std::string& pictures = "");

/// A picture for each task with results, named by the task, and one for each batch-size panel, named by its group.
std::vector<NamedFigure> contest_figures(const contest::Result& result);

/// One HTML file with inline pictures; it needs no network and no JavaScript.
std::string contest_page(const contest::Result& result);

}  // namespace lehi::report
