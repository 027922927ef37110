// Parts of the contest's report: a task, a batch-size panel.
#pragma once

#include <string>

#include "report/contest_analysis.h"
#include "report/document.h"

namespace lehi::report {

void add_blocks(Document& document, Document more);

/// `pictures` as in contest_document(); `level` of the heading.
Document task_blocks(const contest::Result& result, const TaskAnalysis& task, const std::string& pictures, int level);

Document panel_blocks(const contest::Result& result, const BatchPanel& panel, const std::string& pictures);

}  // namespace lehi::report
