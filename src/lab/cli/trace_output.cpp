#include "cli/trace_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/optimizer_description.h"
#include "cli/table.h"

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

const char* trace_status(const TracePath& path) { return path.diverged ? "diverged" : "done"; }

void add_run(const TracePath& path, Json& object) {
  object["optimizer"] = path.options.name;
  object["lr"] = path.options.group.lr;
  object["options"] = numbers_json(path.options.group);
  object["recipe"] = recipe_json(path.options.recipe);
  object["seed"] = path.options.seed;
  object["status"] = trace_status(path);
}

void add_solution(const Problem& problem, Json& object) {
  object["optimum"] = problem.optimum;
  object["minimum"] = problem.minimum;
}

}  // namespace

void print_trace_json(const Problem& problem, const TracePath& path, std::ostream& out) {
  Json document = {{"schema", 1}, {"problem", problem.name}};
  add_run(path, document);
  add_solution(problem, document);
  document["path"] = path_json(path);
  out << document.dump() << '\n';
}

void print_traces_json(const Problem& problem, const std::vector<TracePath>& paths, std::ostream& out) {
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

void print_trace(const Problem& problem, const TracePath& path, std::ostream& out) {
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

void print_traces(const Problem& problem, const std::vector<TracePath>& paths, std::ostream& out) {
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
    rows.back().emplace_back(trace_status(path));
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

}  // namespace lehi::cli
