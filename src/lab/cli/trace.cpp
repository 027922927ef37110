#include "cli/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/lists.h"
#include "cli/arguments.h"
#include "cli/optimizer_flags.h"
#include "cli/table.h"
#include "cli/trace_figure.h"
#include "cli/trace_path.h"
#include "files/files.h"
#include "model/problem.h"
#include "plot/svg.h"

namespace lehi::cli {
namespace {

using Json = nlohmann::ordered_json;

Json path_json(const TracePath& path) {
  Json points = Json::array();
  for (const auto& point : path.points) {
    points.push_back({{"step", point.step}, {"w", point.w}, {"value", point.value}});
  }
  return points;
}

const char* status_name(const TracePath& path) { return path.diverged ? "diverged" : "done"; }

// Adds what was run, and how it ended.
void add_run(const TracePath& path, Json& object) {
  object["optimizer"] = path.options.name;
  object["lr"] = path.options.group.lr;
  object["options"] = numbers_json(path.options.group);
  object["recipe"] = recipe_json(path.options.recipe);
  object["seed"] = path.options.seed;
  object["status"] = status_name(path);
}

void add_solution(const Problem& problem, Json& object) {
  object["optimum"] = problem.optimum;
  object["minimum"] = problem.minimum;
}

void print_json(const Problem& problem, const TracePath& path, std::ostream& out) {
  Json document = {{"schema", 1}, {"problem", problem.name}};
  add_run(path, document);
  add_solution(problem, document);
  document["path"] = path_json(path);
  out << document.dump() << '\n';
}

void print_json(const Problem& problem, const std::vector<TracePath>& paths, std::ostream& out) {
  Json document = {{"schema", 1}, {"problem", problem.name}};
  add_solution(problem, document);
  auto& traces = document["traces"] = Json::array();
  for (const auto& path : paths) {
    Json& trace = traces.emplace_back(Json{{"variant", path.variant}});
    add_run(path, trace);
    trace["path"] = path_json(path);
  }
  out << document.dump() << '\n';
}

void print_text(const Problem& problem, const TracePath& path, std::ostream& out) {
  out << fmt::format("{} on {}: {}\n\n", path.options.name, problem.name, problem.summary);
  std::vector<std::vector<std::string>> rows = {{"step", "value", "distance"}};
  for (std::size_t i = 0; i < problem.start.size(); ++i) rows[0].push_back(fmt::format("w{}", i + 1));
  constexpr std::size_t lines = 12;
  const std::size_t last = path.points.size() - 1;
  const std::size_t shown = std::min(lines, path.points.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& point = path.points[shown == 1 ? 0 : i * last / (shown - 1)];
    rows.push_back(
        {std::to_string(point.step), short_number(point.value), short_number(distance(point.w, problem.optimum), 6)});
    for (const double w : point.w) rows.back().push_back(short_number(w));
  }
  print_table(out, rows, Align::right);
  const auto& end = path.points.back();
  out << fmt::format("\n{} after {} steps: value {} (minimum {}), distance to the optimum ({:.6g}) {}.\n",
                     path.diverged ? "Diverged" : "Done", end.step, short_number(end.value),
                     short_number(problem.minimum), fmt::join(problem.optimum, ", "),
                     short_number(distance(end.w, problem.optimum), 6));
}

// Where each has ended, one row an optimizer.
void print_text(const Problem& problem, const std::vector<TracePath>& paths, std::ostream& out) {
  out << fmt::format("{}: {}; minimum {} at ({:.6g})\n\n", problem.name, problem.summary, short_number(problem.minimum),
                     fmt::join(problem.optimum, ", "));
  std::vector<std::vector<std::string>> rows = {{"optimizer", "lr", "steps", "value", "distance"}};
  for (std::size_t i = 0; i < problem.start.size(); ++i) rows[0].push_back(fmt::format("w{}", i + 1));
  rows[0].emplace_back("status");
  for (const auto& path : paths) {
    const auto& end = path.points.back();
    rows.push_back({path.variant, short_number(path.options.group.lr), std::to_string(end.step),
                    short_number(end.value, 6), short_number(distance(end.w, problem.optimum), 6)});
    for (const double w : end.w) rows.back().push_back(short_number(w, 6));
    rows.back().emplace_back(status_name(path));
  }
  print_table(out, rows, Align::left);
}

void print_problems(bool json, std::ostream& out) {
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows = {{"name", "start", "optimum", "minimum", "summary"}};
  for (const auto& problem : problems()) {
    list.push_back({{"name", problem.name},
                    {"summary", problem.summary},
                    {"start", problem.start},
                    {"optimum", problem.optimum},
                    {"minimum", problem.minimum}});
    rows.push_back({problem.name, fmt::format("{:.6g}", fmt::join(problem.start, ",")),
                    fmt::format("{:.6g}", fmt::join(problem.optimum, ",")), short_number(problem.minimum),
                    problem.summary});
  }
  if (json) {
    out << list.dump(2) << '\n';
  } else {
    print_table(out, rows, Align::left);
  }
}

// "lehi[lr=0.1,eps=1e-3]": the common flags, and those in brackets as if they stood on the command line.
TracedOptimizer parse_variant(const std::string& variant, OptimizerFlags flags) {
  const auto bracket = variant.find('[');
  Arguments arguments = {"--optimizer", variant.substr(0, bracket)};
  if (bracket != std::string::npos) {
    if (variant.back() != ']') {
      throw UsageError(fmt::format("--optimizers: '{}' lacks its closing bracket, as in lehi[lr=0.1]", variant));
    }
    const auto inside = variant.substr(bracket + 1, variant.size() - bracket - 2);
    for (auto setting : base::split_list("--optimizers", inside)) {
      const auto equals = setting.find('=');
      if (equals == std::string::npos || equals == 0) {
        throw UsageError(fmt::format("--optimizers: '{}' in '{}' is not of the form key=value", setting, variant));
      }
      std::replace(setting.begin(), setting.begin() + static_cast<std::ptrdiff_t>(equals), '_', '-');
      if (setting.substr(0, equals) == "optimizer") {
        throw UsageError(fmt::format("--optimizers: '{}' names its optimizer twice", variant));
      }
      arguments.push_back("--" + setting);
    }
  }
  CLI::App app("", "lehi trace");
  app.set_help_flag();
  add_optimizer_flags(app, flags);
  parse_arguments(app, arguments);
  return {variant, resolve(flags)};
}

// All of --optimizers, or the one of --optimizer.
std::vector<TracedOptimizer> chosen_optimizers(const std::string& list, const OptimizerFlags& flags) {
  if (list.empty()) return {{flags.optimizer, resolve(flags)}};
  std::vector<TracedOptimizer> chosen;
  for (const auto& variant : base::split_list("--optimizers", list)) {
    const bool twice =
        std::any_of(chosen.begin(), chosen.end(), [&](const auto& one) { return one.variant == variant; });
    if (twice) throw UsageError(fmt::format("--optimizers: '{}' is listed twice", variant));
    chosen.push_back(parse_variant(variant, flags));
  }
  return chosen;
}

}  // namespace

TraceConfig parse_trace(const Arguments& arguments) {
  TraceConfig config;
  OptimizerFlags flags;
  std::string start;
  std::string optimizers;
  CLI::App app("Follows optimizers on a small problem, in float64, and shows their paths.", "lehi trace");
  app.add_option("problem", config.problem, "a name of `lehi trace --list`");
  app.add_flag("--list", config.list, "list the problems");
  app.add_option("--steps", config.steps, "number of steps")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--start", start, "numbers separated by commas, instead of the problem's own start");
  app.add_flag("--json", config.json, "print one JSON document with the whole path");
  app.add_option("--svg", config.svg, "write a figure: contours and paths; for problems of two weights");
  add_optimizer_flags(app, flags);
  app.add_option("--optimizers", optimizers,
                 "several, separated by commas; lehi[lr=0.1,eps=1e-3] changes the flags below for one")
      ->excludes("--optimizer")
      ->group("Optimizer");
  app.footer(
      "Examples:\n"
      "  lehi trace rosenbrock --optimizer lehi --lr 0.1 --steps 2000\n"
      "  lehi trace logistic-regression --optimizer adam --lr 0.05 --steps 500 --json\n"
      "  lehi trace rosenbrock --optimizers 'lehi[lr=0.05],lehi-gn[lr=0.05],adam[lr=0.05]' --svg paths.svg\n"
      "  lehi trace --list");
  parse_arguments(app, arguments);
  if (config.list) return config;
  if (config.problem.empty()) throw UsageError("trace: which problem? `lehi trace --list` shows them");
  const auto& problem = find_problem(config.problem);
  if (!start.empty()) config.start = parse_numbers("--start", start);
  if (!config.start.empty() && config.start.size() != problem.start.size()) {
    throw UsageError(
        fmt::format("--start: {} has {} weights, not {}", problem.name, problem.start.size(), config.start.size()));
  }
  if (!config.svg.empty() && problem.start.size() != 2) {
    throw UsageError(fmt::format("--svg: {} has {} weights, and contours need a problem of 2 such as rosenbrock",
                                 problem.name, problem.start.size()));
  }
  config.several = !optimizers.empty();
  config.optimizers = chosen_optimizers(optimizers, flags);
  return config;
}

int run_trace(const TraceConfig& config, std::ostream& out, std::ostream& err) {
  if (config.list) {
    print_problems(config.json, out);
    return done;
  }
  const auto& problem = find_problem(config.problem);
  const auto& start = config.start.empty() ? problem.start : config.start;
  std::vector<TracePath> paths;
  for (const auto& [variant, options] : config.optimizers) {
    paths.push_back(follow(problem, variant, options, start, config.steps));
  }
  if (!config.svg.empty()) {
    publish_text(config.svg, plot::to_svg(trace_figure(problem, paths)));
    err << fmt::format("lehi: wrote {}\n", config.svg);
  }
  const auto print = [&](const auto& what) {
    if (config.json)
      print_json(problem, what, out);
    else
      print_text(problem, what, out);
  };
  if (config.several) {
    print(paths);
  } else {
    print(paths.front());
  }
  for (const auto& path : paths) {
    if (!path.diverged) continue;
    err << fmt::format("lehi: {} diverged on {} at step {}; a smaller --lr may help\n", path.variant, problem.name,
                       path.points.back().step);
  }
  // Of several, one that diverges is a result like the others.
  const bool all = std::all_of(paths.begin(), paths.end(), [](const auto& path) { return path.diverged; });
  return all ? diverged : done;
}

}  // namespace lehi::cli
