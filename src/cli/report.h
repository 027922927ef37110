// `lehi report`: the tables of studies that were run, as text or as a Markdown file.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"

namespace lehi::cli {

struct ReportConfig {
  std::vector<std::string> directories;
  std::string title;
  std::string markdown;  ///< the file to write; "": text on standard output
  Arguments arguments;   ///< as given, for the record
};

ReportConfig parse_report(const Arguments& arguments);
int run_report(const ReportConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
