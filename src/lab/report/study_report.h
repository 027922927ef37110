// The report of one or more studies: learning rates next to the paper's, and optimizers compared over seeds. Runs of
// the same task and preset share a section, whichever study they come from.
#pragma once

#include <string>
#include <vector>

#include "report/document.h"
#include "report/section.h"
#include "study/study_file.h"

namespace lehi::report {

struct ReportRequest {
  std::string title;
  std::vector<std::string> command_line;  ///< that writes the report, beginning with "lehi"
};

/// The studies that could be read, and a sentence for each directory that could not.
struct Studies {
  std::vector<NamedStudy> read;
  std::vector<std::string> problems;
};

/// Throws the first FileError of study::read_study() if no directory can be read.
Studies read_studies(const std::vector<std::string>& directories);

/// The commands that made the studies, then the one that writes the report.
std::vector<std::string> commands_of(const Studies& studies, const ReportRequest& request);

Document study_report(const Studies& studies, const ReportRequest& request);

/// All tables and sentences of a section.
Document section_report(const Section& section, const Analysis& analysis);

/// The tables that `lehi sweep` prints: the scores of a study by optimizer and rate, the best rate of each marked.
/// Appends to `warnings` a sentence for each best rate at the edge of its grid.
Document score_tables(const study::Study& study, std::vector<std::string>& warnings);

}  // namespace lehi::report
