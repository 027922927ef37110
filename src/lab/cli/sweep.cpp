#include "cli/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/names.h"
#include "cli/arguments.h"
#include "cli/report.h"
#include "report/document.h"
#include "report/study_report.h"
#include "study/study_json.h"
#include "study/study_toml.h"

namespace lehi::cli {
namespace {

// "lehi sweep protein, mnist"
std::string title_of(const study::Study& study) {
  std::vector<std::string> tasks;
  for (const auto& run : study.runs) {
    const auto task = base::short_task(run.task);
    if (std::find(tasks.begin(), tasks.end(), task) == tasks.end()) tasks.push_back(task);
  }
  return fmt::format("lehi sweep {}", fmt::join(tasks, ", "));
}

}  // namespace

StudyConfig parse_sweep(const Arguments& arguments) {
  StudyFlags flags;
  bool json = false;
  flags.optimizers = fmt::format("{}", fmt::join(study::default_optimizers(), ","));
  flags.seeds = "0";
  CLI::App app("Train every optimizer with every learning rate and seed, and print the scores by learning rate.",
               "lehi sweep");
  app.add_option("TASK", flags.tasks, std::string(task_help) + "; not needed with --study or --resume");
  app.add_option("--lrs", flags.rates, "learning rates separated by commas [default: judge.rates of the task's preset]")
      ->type_name("RATE,...")
      ->group(study_group);
  app.add_option("--best", flags.best,
                 "run two phases, as in the paper: every rate with the first seed, then the K best rates of each "
                 "optimizer with the other seeds [default: every rate with every seed]")
      ->type_name("K")
      ->check(CLI::Range(1, 1000))
      ->group(study_group);
  app.add_option("--study", flags.study, "a TOML file that sets tasks, optimizers, rates, seeds and settings")
      ->type_name("FILE")
      ->group(study_group);
  add_study_flags(app, flags);
  app.add_flag("--json", json, "print study.json instead of the table");
  app.footer(
      "Examples:\n"
      "  lehi sweep protein --out runs/protein\n"
      "  lehi sweep mnist --optimizers lehi,adam --lrs 3e-4,1e-3,3e-3 --seeds 0,1,2 --out runs/a\n"
      "  lehi sweep protein mnist --seeds 0,1,2 --best 3 --out runs/b\n"
      "  lehi sweep --study configs/studies/paper.toml --out runs/paper\n"
      "  lehi sweep --resume --out runs/a\n"
      "  lehi sweep mnist --launcher slurm --slurm-option=--time=60 --out runs/c\n"
      "  mpirun -n 4 lehi sweep mnist --launcher mpi --out runs/d\n"
      "  lehi report runs/a --markdown a.md");
  parse_arguments(app, arguments);
  auto config = study_config(flags, "sweep", study::Rates::grid, arguments);
  config.json = json;
  return config;
}

int run_sweep(const StudyConfig& config, std::ostream& out, std::ostream& err) {
  return run_study_command(config, err, [&](const study::Study& study) {
    std::vector<std::string> warnings;
    const auto tables = report::score_tables(study, warnings);
    const auto page = write_study_page(config.directory, title_of(study));
    if (config.json) {
      out << study::to_json(study).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    } else {
      out << report::to_text(tables) << "\nruns: " << config.directory << "\nreport: " << page << '\n';
    }
    for (const auto& warning : warnings) err << "lehi: warning: " << warning << '\n';
  });
}

}  // namespace lehi::cli
