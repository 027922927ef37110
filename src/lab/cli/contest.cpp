#include "cli/contest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <filesystem>
#include <ostream>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/run_flags.h"
#include "cli/study_command.h"
#include "cli/table.h"
#include "contest/contest_json.h"
#include "files/files.h"
#include "lehi/runtime.h"
#include "plot/svg.h"
#include "report/contest_report.h"
#include "report/document.h"
#include "report/format.h"

namespace lehi::cli {
namespace {

constexpr const char* kDefaultContest = "small";

struct ContestFlags {
  std::string file;
  std::string out;
  std::string tasks;
  std::string arms;
  std::string data_dir;
  int jobs = 0;
  bool resume = false;
};

void check_flags(const ContestFlags& flags, const ContestConfig& config) {
  if (config.show.empty()) {
    if (!config.markdown.empty()) throw UsageError("--markdown needs --show DIR, the contest to write about");
    if (flags.out.empty()) throw UsageError("--out names the directory of the contest; add --out runs/contest");
    return;
  }
  if (!flags.file.empty() || !flags.out.empty() || flags.resume || !flags.tasks.empty() || !flags.arms.empty()) {
    throw UsageError("--show prints the contest in a directory and runs nothing; leave out the other arguments");
  }
}

std::vector<std::string> words_of(const ContestConfig& config) {
  std::vector<std::string> words = {"lehi", "contest"};
  const auto& request = config.request;
  if (!request.file.empty()) words.push_back(request.file);
  words.insert(words.end(), {"--out", request.directory.string()});
  if (!request.tasks.empty()) words.insert(words.end(), {"--tasks", fmt::format("{}", fmt::join(request.tasks, ","))});
  if (!request.arms.empty()) words.insert(words.end(), {"--arms", fmt::format("{}", fmt::join(request.arms, ","))});
  if (!request.runner.data_dir.empty()) words.insert(words.end(), {"--data-dir", request.runner.data_dir});
  words.insert(words.end(), {"--jobs", std::to_string(request.runner.jobs), "--resume"});
  return words;
}

void write_pictures(const contest::Result& result, const std::filesystem::path& directory) {
  const auto figures = report::contest_figures(result);
  if (!figures.empty()) make_directories(directory);
  for (const auto& [name, figure] : figures) publish_text(directory / (name + ".svg"), plot::to_svg(figure));
}

/// Writes the report as Markdown, with its pictures in a directory of the file's name without its ending.
void write_markdown(const contest::Result& result, const std::filesystem::path& file) {
  const auto pictures = file.stem().string();
  publish_text(file, report::to_markdown(report::contest_document(result, pictures + "/")));
  write_pictures(result, file.parent_path() / pictures);
}

void write_report(const contest::Result& result, const std::filesystem::path& directory) {
  write_markdown(result, directory / "report.md");
  publish_text(directory / kReportFile, report::contest_page(result));
}

void print(const contest::Result& result, bool json, std::ostream& out) {
  if (json) {
    out << contest::to_json(result).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  } else {
    out << report::to_text(report::contest_document(result));
  }
}

int show_contest(const ContestConfig& config, std::ostream& out, std::ostream& err) {
  const auto result = contest::read_result(config.show);
  if (!config.markdown.empty()) {
    write_markdown(result, config.markdown);
    err << fmt::format("lehi: wrote {}\n", config.markdown);
  }
  if (config.markdown.empty() || config.json) print(result, config.json, out);
  return done;
}

}  // namespace

ContestConfig parse_contest(const Arguments& arguments) {
  ContestFlags flags;
  ContestConfig config;
  CLI::App app(
      "Compare optimizers on several tasks at equal time. For each task: measure the time of a step, try each "
      "optimizer's rates and then the values of one more setting on held-out rows, train the best setting with fresh "
      "seeds for as many steps as the baseline's time allows, and find the smallest part of the baseline's steps that "
      "reaches the baseline's result.",
      "lehi contest");
  app.add_option(
      "FILE", flags.file,
      "small, full, or a TOML file with tasks and optimizers [default: small; with --resume the file in --out]");
  app.add_option("--out", flags.out, "directory of the contest")->type_name("DIR")->group(study_group);
  app.add_option("--tasks", flags.tasks, "run these tasks of the file only")->type_name("NAME,...")->group(study_group);
  app.add_option("--arms", flags.arms, "run these optimizers of the file only; the baseline must be among them")
      ->type_name("NAME,...")
      ->group(study_group);
  app.add_option("--jobs", flags.jobs,
                 "number of runs at the same time, except where times are measured [default: the cores available to "
                 "this process]")
      ->type_name("N")
      ->check(CLI::Range(1, 1024))
      ->group(study_group);
  app.add_flag("--resume", flags.resume,
               "continue the contest in --out: finished runs are kept, failed ones repeated; tasks and optimizers may "
               "be added")
      ->group(study_group);
  app.add_option("--data-dir", flags.data_dir, data_dir_help)->type_name("DIR")->group(study_group);
  app.add_option("--show", config.show, "print the result of the contest in DIR and run nothing")->type_name("DIR");
  app.add_option("--markdown", config.markdown, "with --show: write the report as Markdown")->type_name("FILE");
  app.add_flag("--json", config.json, "print contest.json instead of the report");
  app.footer(
      "Examples:\n"
      "  lehi contest --out runs/contest\n"
      "  lehi contest small --tasks gpt-small,mnist-small --arms adamw,muon,lehi-kron --out runs/contest\n"
      "  lehi contest --resume --out runs/contest\n"
      "  lehi contest my.toml --jobs 2 --out runs/mine\n"
      "  lehi contest --show runs/contest --markdown contest.md");
  parse_arguments(app, arguments);
  check_flags(flags, config);
  auto& request = config.request;
  request.file = flags.file.empty() && !flags.resume ? kDefaultContest : flags.file;
  request.directory = flags.out;
  request.resume = flags.resume;
  if (!flags.tasks.empty()) request.tasks = base::split_list("--tasks", flags.tasks);
  if (!flags.arms.empty()) request.arms = base::split_list("--arms", flags.arms);
  request.command_line = {"lehi", "contest"};
  request.command_line.insert(request.command_line.end(), arguments.begin(), arguments.end());
  request.runner.data_dir = flags.data_dir;
  request.runner.jobs = flags.jobs > 0 ? flags.jobs : runtime::describe_host().cores;
  return config;
}

int run_contest(const ContestConfig& config, std::ostream& out, std::ostream& err) {
  if (!config.show.empty()) return show_contest(config, out, err);
  auto request = config.request;
  request.runner.terminal = is_terminal(err);
  request.check = [&](const auto& plan) { check_data(plan, request.runner.data_dir, err); };
  // After each phase. The contest goes on if the report fails; the last one is written below.
  request.written = [&](const contest::Result& result) {
    try {
      write_report(result, request.directory);
    } catch (const std::exception& error) {
      err << fmt::format("lehi: warning: the report was not written: {}\n", error.what());
    }
  };
  const auto outcome = contest::run_contest(request, err);
  if (outcome.signal != 0) {
    err << fmt::format("lehi: stopped; `{}` continues the contest\n", report::shell_line(words_of(config)));
    return 128 + outcome.signal;
  }
  write_report(outcome.result, request.directory);
  print(outcome.result, config.json, out);
  if (!config.json) out << fmt::format("\nreport: {}\n", (request.directory / kReportFile).string());
  return outcome.failed_code;
}

}  // namespace lehi::cli
