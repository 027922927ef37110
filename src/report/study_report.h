// The report of one or more studies: learning rates beside the paper's, and optimizers compared over seeds. Studies of
// the same task and kind are shown as one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/document.h"
#include "study/study.h"

namespace lehi::report {

struct NamedStudy {
  std::filesystem::path directory;
  study::Study study;
};

struct ReportRequest {
  std::string title;
  std::vector<std::string> command_line;  ///< of the report itself, beginning with "lehi"
};

Document study_report(const std::vector<NamedStudy>& studies, const ReportRequest& request);

/// The scores of a study by optimizer and rate, the best rate of each marked: what `lehi sweep` prints. The warnings
/// about best rates at the grid's edge are appended to `warnings`.
Document score_tables(const study::Study& study, std::vector<std::string>& warnings);

}  // namespace lehi::report
