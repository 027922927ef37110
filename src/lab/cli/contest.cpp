#include "cli/contest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <ostream>
#include <utility>
#include <vector>

#include "base/lists.h"
#include "cli/arguments.h"
#include "cli/run_flags.h"
#include "cli/study_command.h"
#include "cli/table.h"
#include "contest/contest_json.h"
#include "files/files.h"
#include "lehi/runtime.h"
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

std::string mean_text(const std::vector<study::SeedValue>& values) {
  if (values.empty()) return "-";
  std::vector<double> numbers;
  numbers.reserve(values.size());
  for (const auto& value : values) numbers.push_back(value.value);
  const auto mean = study::mean_and_std(numbers);
  if (!std::isfinite(mean.mean)) return "diverged";
  return fmt::format("{:.5g} ± {:.2g}", mean.mean, mean.std);
}

report::Document summary(const contest::Result& result) {
  report::Document document;
  for (const auto& task : result.tasks) {
    report::Table table{.rows = {{"optimizer", "step time", "steps", "rate", "other setting", task.metric}}};
    for (const auto& arm : task.arms) {
      table.rows.push_back({arm.label, fmt::format("{:.2f}", arm.time.ratio), std::to_string(arm.steps),
                            fmt::format("{}", arm.lr), arm.knob.empty() ? "-" : arm.knob, mean_text(arm.values)});
    }
    document.emplace_back(report::Heading{2, task.title});
    document.emplace_back(std::move(table));
  }
  if (!result.missing.empty()) {
    document.emplace_back(report::Heading{2, "Missing"});
    document.emplace_back(report::List{result.missing});
  }
  return document;
}

void print(const contest::Result& result, bool json, std::ostream& out) {
  if (json) {
    out << contest::to_json(result).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
  } else {
    out << report::to_text(summary(result));
  }
}

int show_contest(const ContestConfig& config, std::ostream& out, std::ostream& err) {
  const auto result = contest::read_result(config.show);
  if (!config.markdown.empty()) {
    publish_text(config.markdown, report::to_markdown(summary(result)));
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
  const auto outcome = contest::run_contest(request, err);
  if (outcome.signal != 0) {
    err << fmt::format("lehi: stopped; `{}` continues the contest\n", report::shell_line(words_of(config)));
    return 128 + outcome.signal;
  }
  print(outcome.result, config.json, out);
  return outcome.failed_code;
}

}  // namespace lehi::cli
