#include "cli/report.h"

#include <fmt/format.h>

#include <ostream>

#include "cli/arguments.h"
#include "files/files.h"
#include "plot/svg.h"
#include "report/csv.h"
#include "report/figures.h"
#include "report/page.h"
#include "report/study_report.h"

namespace lehi::cli {
namespace {

// The readable studies; prints a warning for each of the others.
report::Studies studies_of(const std::vector<std::string>& directories, std::ostream& err) {
  auto studies = report::read_studies(directories);
  for (const auto& problem : studies.problems) err << "lehi: warning: " << problem << '\n';
  return studies;
}

void write_figures(const report::Studies& studies, const std::filesystem::path& directory, std::ostream& err) {
  make_directories(directory);
  for (const auto& [name, figure] : report::figures_of(studies)) {
    const auto file = directory / (name + ".svg");
    publish_text(file, plot::to_svg(figure));
    err << fmt::format("lehi: wrote {}\n", file.string());
  }
}

}  // namespace

ReportConfig parse_report(const Arguments& arguments) {
  ReportConfig config;
  config.arguments = arguments;
  config.title = "Studies";
  CLI::App app(
      "Write a report of studies: optimizers compared over seeds, learning rates beside the paper's, curves, stability "
      "and cost. Without an output option, print the tables and write the web page to report.html in the first "
      "directory.",
      "lehi report");
  app.add_option("DIR", config.directories, "directories written by `lehi compare` or `lehi sweep`")->required();
  app.add_option("--out", config.html, "write the web page to one self-contained HTML file")->type_name("FILE");
  app.add_option("--markdown", config.markdown, "write the tables as Markdown")->type_name("FILE");
  app.add_option("--latex", config.latex, "write the tables as LaTeX for \\input (package booktabs)")
      ->type_name("FILE");
  app.add_option("--csv", config.csv, "write one row per run as CSV")->type_name("FILE");
  app.add_option("--svg", config.svg, "write the figures as SVG files to this directory")->type_name("DIR");
  app.add_option("--title", config.title, "title of the report")->type_name("TITLE")->capture_default_str();
  app.footer(
      "Examples:\n"
      "  lehi report runs/protein\n"
      "  lehi report runs/protein --out protein.html --svg figures --latex tables.tex\n"
      "  lehi report runs/protein runs/mnist --markdown results.md --title 'Our results'");
  parse_arguments(app, arguments);
  check_all_different(config.directories);
  return config;
}

int run_report(const ReportConfig& config, std::ostream& out, std::ostream& err) {
  const auto studies = studies_of(config.directories, err);
  report::ReportRequest request{.title = config.title, .command_line = {"lehi", "report"}};
  request.command_line.insert(request.command_line.end(), config.arguments.begin(), config.arguments.end());
  const auto write = [&](const std::string& file, const auto& text) {
    if (file.empty()) return;
    publish_text(file, text());
    err << fmt::format("lehi: wrote {}\n", file);
  };
  const auto document = report::study_report(studies, request);
  const bool chosen = !(config.html + config.markdown + config.latex + config.csv + config.svg).empty();
  const auto page = chosen ? config.html : (studies.read.front().directory / kReportFile).string();
  if (!chosen) out << report::to_text(document);
  write(page, [&] { return report::page_html(report::page_data(studies, request)); });
  write(config.markdown, [&] { return report::to_markdown(document); });
  write(config.latex, [&] { return report::to_latex(document); });
  write(config.csv, [&] { return report::runs_csv(studies); });
  if (!config.svg.empty()) write_figures(studies, config.svg, err);
  return done;
}

std::string write_study_page(const std::string& directory, const std::string& title) {
  const auto studies = report::read_studies({directory});
  auto file = (std::filesystem::path(directory) / kReportFile).string();
  const auto data = report::page_data(studies, {.title = title, .command_line = {"lehi", "report", directory}});
  publish_text(file, report::page_html(data));
  return file;
}

}  // namespace lehi::cli
