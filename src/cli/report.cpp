#include "cli/report.h"

#include <fmt/format.h>

#include <ostream>
#include <set>

#include "cli/arguments.h"
#include "report/study_report.h"
#include "train/files.h"

namespace lehi::cli {

ReportConfig parse_report(const Arguments& arguments) {
  ReportConfig config;
  config.arguments = arguments;
  config.title = "Studies";
  CLI::App app("Shows what studies found: learning rates beside the paper's, optimizers compared over seeds.",
               "lehi report");
  app.add_option("directories", config.directories, "directories that `lehi compare` or `lehi sweep` left")->required();
  app.add_option("--markdown", config.markdown, "write a Markdown file instead of text to standard output");
  app.add_option("--title", config.title, "the report's heading")->capture_default_str();
  app.footer(
      "Examples:\n"
      "  lehi report runs/protein\n"
      "  lehi report runs/protein runs/mnist --markdown docs/reproduction.md --title 'The paper measured again'");
  parse_arguments(app, arguments);
  std::set<std::string> seen;
  for (const auto& directory : config.directories) {
    if (!seen.insert(directory).second) throw UsageError(fmt::format("{} is named twice.", directory));
  }
  return config;
}

int run_report(const ReportConfig& config, std::ostream& out, std::ostream& err) {
  std::vector<report::NamedStudy> studies;
  for (const auto& directory : config.directories) studies.push_back({directory, study::read_study(directory)});
  report::ReportRequest request{.title = config.title, .command_line = {"lehi", "report"}};
  request.command_line.insert(request.command_line.end(), config.arguments.begin(), config.arguments.end());
  const auto document = report::study_report(studies, request);
  if (config.markdown.empty()) {
    out << report::to_text(document);
    return done;
  }
  train::publish_text(config.markdown, report::to_markdown(document));
  err << fmt::format("lehi: wrote {}\n", config.markdown);
  return done;
}

}  // namespace lehi::cli
