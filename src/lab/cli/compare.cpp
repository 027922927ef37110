#include "cli/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/names.h"
#include "cli/arguments.h"
#include "cli/report.h"
#include "report/document.h"
#include "report/format.h"
#include "study/comparison.h"
#include "study/study_json.h"
#include "train/json_file.h"

namespace lehi::cli {
namespace {

std::string plain_number(double value, int digits, const char* unit = "") {
  return std::isfinite(value) ? fmt::format("{:.{}f}{}", value, digits, unit) : "-";
}

// "0.2421 ± 0.0031", or how many seeds diverged.
std::string final_text(const study::Comparison& comparison, const study::ComparisonRow& row) {
  if (row.final.count == 0) return "-";
  if (row.diverged > 0) return fmt::format("diverged {}/{}", row.diverged, row.final.count);
  return report::with_spread(comparison.metric, row.final.mean, row.final.std);
}

std::string time_text(const study::ComparisonRow& row) {
  if (row.final.count == 0) return "-";
  if (row.reached == 0) return "never";
  const auto text = plain_number(row.seconds_to_baseline, 1, " s");
  return row.reached == row.final.count ? text : fmt::format("{} ({}/{})", text, row.reached, row.final.count);
}

report::Document table_of(const study::Comparison& comparison) {
  report::Table table{{{"optimizer", "lr", comparison.metric, fmt::format("time to {}'s", comparison.baseline),
                        "step time", "forward", "backward", "peak memory", "status"}},
                      {"status"}};
  std::size_t seeds = 0;
  for (const auto& row : comparison.rows) {
    seeds = std::max(seeds, row.done + row.diverged + row.failed + row.unfinished);
    table.rows.push_back({row.variant, fmt::format("{:g}", row.lr), final_text(comparison, row), time_text(row),
                          plain_number(row.relative_step, 2), plain_number(row.forward_passes, 0),
                          plain_number(row.backward_passes, 0), plain_number(row.peak_memory_bytes / 1e6, 0, " MB"),
                          study::status_text(row)});
  }
  const auto last = comparison.window == 1 ? std::string("at the last evaluation")
                                           : fmt::format("over the last {} evaluations", comparison.window);
  const auto caption = fmt::format("{}: {} {}, mean{} over {} seed{}; step time (fastest ten) relative to {}",
                                   base::short_task(comparison.task), comparison.metric, last,
                                   seeds > 1 ? " ± std" : "", seeds, seeds == 1 ? "" : "s", comparison.baseline);
  return {report::Paragraph{caption}, table};
}

}  // namespace

StudyConfig parse_compare(const Arguments& arguments) {
  StudyFlags flags;
  std::string task;
  bool json = false;
  flags.optimizers = "lehi,lehibrid,lehi-gn,adam,adamw,sophia-g";
  flags.seeds = "0,1,2";
  CLI::App app(
      "Train several optimizers on one task with the same budget and seeds, each at the learning rate of its preset, "
      "and print one table.",
      "lehi compare");
  app.add_option("TASK", task, std::string(task_help) + "; not needed with --resume");
  add_study_flags(app, flags);
  app.add_flag("--json", json, "print one JSON document instead of the table");
  app.footer(
      "Examples:\n"
      "  lehi compare fashion-mnist --preset small\n"
      "  lehi compare protein --optimizers lehi-gn,adam --seeds 0,1,2,3,4 --out runs/a\n"
      "  lehi compare mnist --optimizers 'lehi,lehi[eps=1e-4],adam[lr=1e-3]' --epochs 5\n"
      "  lehi compare csv:houses.csv --target price --jobs 4\n"
      "  lehi compare --resume --out runs/a");
  parse_arguments(app, arguments);
  if (!task.empty()) flags.tasks = {task};
  auto config = study_config(flags, "compare", study::Rates::preset, arguments);
  config.json = json;
  return config;
}

int run_compare(const StudyConfig& config, std::ostream& out, std::ostream& err) {
  return run_study_command(config, err, [&](const study::Study& study) {
    const auto comparison = study::compare_runs(study, config.directory);
    const auto page = write_study_page(config.directory, fmt::format("lehi compare {}", comparison.task));
    if (config.json) {
      auto document = study::to_json(study);
      document["directory"] = config.directory;
      document["report"] = page;
      document["comparison"] = study::to_json(comparison);
      out << document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
    } else {
      out << report::to_text(table_of(comparison)) << "\nruns: " << config.directory << "\nreport: " << page << '\n';
    }
  });
}

}  // namespace lehi::cli
