// The report of one or more studies: learning rates beside the paper's, and optimizers compared over seeds. Studies of
// the same task and kind are shown as one.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/section.h"
#include "study/study_file.h"

namespace lehi::report {

struct ReportRequest {
  std::string title;
  std::vector<std::string> command_line;  ///< of the report itself, beginning with "lehi"
};

/// Studies that could be read, and a sentence for each directory that could not.
struct Studies {
  std::vector<NamedStudy> read;
  std::vector<std::string> problems;
};

/// Throws what study::read_study() throws when no directory holds a study that can be read.
Studies read_studies(const std::vector<std::string>& directories);

/// The commands that made the studies, then the report's own.
std::vector<std::string> commands_of(const Studies& studies, const ReportRequest& request);

Document study_report(const Studies& studies, const ReportRequest& request);

/// All tables and sentences of a section.
Document section_report(const Section& section, const Analysis& analysis);

/// The scores of a study by optimizer and rate, the best rate of each marked: what `lehi sweep` prints. The warnings
/// about best rates at the grid's edge are appended to `warnings`.
Document score_tables(const study::Study& study, std::vector<std::string>& warnings);

}  // namespace lehi::report
