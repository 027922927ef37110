#include "report/study_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>

#include "base/names.h"
#include "files/files.h"
#include "report/rate_tables.h"
#include "report/seed_tables.h"
#include "study/run_directory.h"
#include "study/study_file.h"

namespace lehi::report {

using study::StudyRun;

namespace {

void append(Document& document, Document more) { std::move(more.begin(), more.end(), std::back_inserter(document)); }

// What is not in a table: runs that failed, have not finished, or stand in two studies.
Document failures(const Section& section) {
  std::vector<std::string> lines = section.notices;
  std::size_t unfinished = 0;
  for (const auto* run : section.runs) {
    if (run->status == train::RunStatus::failed) {
      lines.push_back(fmt::format("{} failed: {}", run->directory, run->message));
    } else if (!run->finished()) {
      ++unfinished;
    }
  }
  if (unfinished > 0) lines.push_back(fmt::format("{} runs have not finished.", unfinished));
  if (lines.empty()) return {};
  return {List{lines}};
}

}  // namespace

Studies read_studies(const std::vector<std::string>& directories) {
  Studies studies;
  std::exception_ptr first;
  for (const auto& directory : directories) {
    try {
      auto study = study::read_study(directory);
      // study.json is written when a run ends; of those that run, their own directories know more.
      for (auto& run : study.runs) {
        if (!run.finished() && !run.damaged && run.status != train::RunStatus::failed) study::read_run(run, directory);
      }
      studies.read.push_back({directory, std::move(study)});
    } catch (const FileError& error) {
      if (!first) first = std::current_exception();
      studies.problems.emplace_back(error.what());
    }
  }
  if (studies.read.empty() && first) std::rethrow_exception(first);
  return studies;
}

std::vector<std::string> commands_of(const Studies& studies, const ReportRequest& request) {
  std::vector<std::string> lines;
  for (const auto& [directory, study] : studies.read) lines.push_back(shell_line(study.command_line));
  lines.push_back(shell_line(request.command_line));
  return lines;
}

Document section_report(const Section& section, const Analysis& analysis) {
  Document document;
  if (!section.held_out) append(document, rate_search(section));
  append(document, seeds_report(section, analysis));
  if (document.empty()) {  // one seed, one rate: nothing to compare over
    document.push_back(Heading{2, section.title()});
    document.push_back(Paragraph{fmt::format("{} over the last {} evaluations, one seed: a trial, no comparison.",
                                             section.runs.front()->metric, section.window())});
    document.push_back(scores_by_rate(analysis.variants, section.runs.front()->metric));
  }
  append(document, failures(section));
  return document;
}

Document study_report(const Studies& studies, const ReportRequest& request) {
  Document document;
  document.push_back(Heading{1, request.title});
  document.push_back(
      Paragraph{fmt::format("Written by lehi {} from the runs themselves; the commands that made it:", LEHI_VERSION)});
  document.push_back(Commands{commands_of(studies, request)});
  if (!studies.problems.empty()) document.push_back(List{studies.problems});
  for (const auto& section : sections_of(studies.read)) append(document, section_report(section, Analysis(section)));
  return document;
}

Document score_tables(const study::Study& study, std::vector<std::string>& warnings) {
  Document document;
  std::vector<std::string> tasks;
  for (const auto& run : study.runs) {
    if (std::find(tasks.begin(), tasks.end(), run.task) == tasks.end()) tasks.push_back(run.task);
  }
  for (const auto& task : tasks) {
    std::vector<const StudyRun*> runs;
    for (const auto& run : study.runs) {
      if (run.task == task) runs.push_back(&run);
    }
    const auto metric = study::selection_metric(runs);
    const auto variants = study::group_runs(runs);
    const auto seeds = seeds_of(runs).size();
    document.push_back(Paragraph{
        fmt::format("{}: score of {} ({} over the last {} evaluations), {} seed{}; * best rate", base::short_task(task),
                    metric, score_formula(metric), runs.front()->window, seeds, seeds == 1 ? "" : "s")});
    document.push_back(scores_by_rate(variants, metric));
    for (auto& warning : edge_warnings(variants, metric)) warnings.push_back(std::move(warning));
  }
  return document;
}

}  // namespace lehi::report
