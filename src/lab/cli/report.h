// `lehi report`: writes the results of studies as a web page, text, Markdown, LaTeX, CSV and SVG.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"

namespace lehi::cli {

/// File name of a study's page in its directory.
inline constexpr const char* kReportFile = "report.html";

struct ReportConfig {
  std::vector<std::string> directories;
  std::string title;
  // Files to write. If all are empty, the tables are printed and the page is written to the first directory.
  std::string html;
  std::string markdown;
  std::string latex;
  std::string csv;
  std::string svg;      ///< a directory
  Arguments arguments;  ///< as given; the report quotes them
};

ReportConfig parse_report(const Arguments& arguments);
int run_report(const ReportConfig& config, std::ostream& out, std::ostream& err);

/// Writes a study's page to its directory and returns the file's path. For `lehi compare` and `lehi sweep`.
std::string write_study_page(const std::string& directory, const std::string& title);

}  // namespace lehi::cli
