#include "cli/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "cli/optimizer_flags.h"
#include "cli/table.h"
#include "lehi/error.h"
#include "lehi/optimizer.h"
#include "model/problem.h"

namespace lehi::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Point {
  std::int64_t step = 0;
  std::vector<double> w;
  double value = 0.0;
};

struct Path {
  std::vector<Point> points;  ///< from the start on
  bool diverged = false;
};

std::vector<double> entries(const torch::Tensor& w) {
  const auto values = w.detach();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

Path follow(const Problem& problem, const TraceConfig& config) {
  const auto& start = config.start.empty() ? problem.start : config.start;
  auto w = torch::tensor(start, torch::kFloat64).requires_grad_(true);
  Optimizer optimizer(std::vector<torch::Tensor>{w}, config.options);
  Path path;
  for (std::int64_t step = 0; step <= config.steps && !path.diverged; ++step) {
    auto& point = path.points.emplace_back(Point{.step = step, .w = entries(w), .value = std::nan("")});
    try {
      point.value = value(problem, w.detach());
      if (step < config.steps) optimizer.step(problem.predictions(w), *problem.loss, problem.targets);
    } catch (const NonFiniteError&) {
      path.diverged = true;
    }
    path.diverged = path.diverged || !std::isfinite(point.value);
  }
  return path;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double squares = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

void print_json(const Problem& problem, const TraceConfig& config, const Path& path, std::ostream& out) {
  Json points = Json::array();
  for (const auto& point : path.points) {
    points.push_back({{"step", point.step}, {"w", point.w}, {"value", point.value}});
  }
  const Json document = {
      {"schema", 1},
      {"problem", problem.name},
      {"optimizer", config.options.name},
      {"lr", config.options.group.lr},
      {"options", numbers_json(config.options.group)},
      {"recipe", recipe_json(config.options.recipe)},
      {"seed", config.options.seed},
      {"status", path.diverged ? "diverged" : "done"},
      {"optimum", problem.optimum},
      {"minimum", problem.minimum},
      {"path", points},
  };
  out << document.dump() << '\n';
}

void print_text(const Problem& problem, const TraceConfig& config, const Path& path, std::ostream& out) {
  out << fmt::format("{} on {}: {}\n\n", config.options.name, problem.name, problem.summary);
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

}  // namespace

TraceConfig parse_trace(const Arguments& arguments) {
  TraceConfig config;
  OptimizerFlags flags;
  std::string start;
  CLI::App app("Follows an optimizer on a small problem, in float64, and shows its path.", "lehi trace");
  app.add_option("problem", config.problem, "a name of `lehi trace --list`");
  app.add_flag("--list", config.list, "list the problems");
  app.add_option("--steps", config.steps, "number of steps")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--start", start, "numbers separated by commas, instead of the problem's own start");
  app.add_flag("--json", config.json, "print one JSON document with the whole path");
  add_optimizer_flags(app, flags);
  app.footer(
      "Examples:\n"
      "  lehi trace rosenbrock --optimizer lehi --lr 0.1 --steps 2000\n"
      "  lehi trace logistic-regression --optimizer adam --lr 0.05 --steps 500 --json\n"
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
  config.options = resolve(flags);
  return config;
}

int run_trace(const TraceConfig& config, std::ostream& out, std::ostream& err) {
  if (config.list) {
    print_problems(config.json, out);
    return done;
  }
  const auto& problem = find_problem(config.problem);
  const auto path = follow(problem, config);
  if (config.json) {
    print_json(problem, config, path, out);
  } else {
    print_text(problem, config, path, out);
  }
  if (!path.diverged) return done;
  err << fmt::format("lehi: {} diverged on {} at step {}; a smaller --lr may help\n", config.options.name, problem.name,
                     path.points.back().step);
  return diverged;
}

}  // namespace lehi::cli
