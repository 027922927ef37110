// `lehi report`: what studies found, as a page, as text, and as files for papers and other programs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"

namespace lehi::cli {

/// The page of a study, in its directory.
inline constexpr const char* kReportFile = "report.html";

struct ReportConfig {
  std::vector<std::string> directories;
  std::string title;
  std::string html;  ///< files to write; without any, text on standard output and the page in the first directory
  std::string markdown;
  std::string latex;
  std::string csv;
  std::string svg;      ///< a directory
  Arguments arguments;  ///< as given, for the record
};

ReportConfig parse_report(const Arguments& arguments);
int run_report(const ReportConfig& config, std::ostream& out, std::ostream& err);

/// Writes a study's page into its directory and returns the file: how `lehi compare` and `lehi sweep` end.
std::string write_study_page(const std::string& directory, const std::string& title);

}  // namespace lehi::cli
