#include "cli/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/lists.h"
#include "cli/arguments.h"
#include "cli/optimizer_flags.h"
#include "cli/trace_figure.h"
#include "cli/trace_output.h"
#include "cli/trace_path.h"
#include "files/files.h"
#include "model/problem.h"
#include "plot/svg.h"

namespace lehi::cli {
namespace {

// Parses "lehi[lr=0.1,eps=1e-3]". Each setting in brackets is parsed like a flag and overrides the common flags.
TracedOptimizer parse_variant(const std::string& variant, OptimizerFlags flags) {
  const auto bracket = variant.find('[');
  Arguments arguments = {"--optimizer", variant.substr(0, bracket)};
  if (bracket != std::string::npos) {
    if (variant.back() != ']') {
      throw UsageError(
          fmt::format("--optimizers: '{}' has no closing bracket; expected for example lehi[lr=0.1]", variant));
    }
    const auto inside = variant.substr(bracket + 1, variant.size() - bracket - 2);
    for (auto setting : base::split_list("--optimizers", inside)) {
      const auto equals = setting.find('=');
      if (equals == std::string::npos || equals == 0) {
        throw UsageError(fmt::format("--optimizers: '{}' in '{}' is not of the form key=value", setting, variant));
      }
      std::replace(setting.begin(), setting.begin() + static_cast<std::ptrdiff_t>(equals), '_', '-');
      if (setting.substr(0, equals) == "optimizer") {
        throw UsageError(fmt::format("--optimizers: '{}' sets its optimizer twice", variant));
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

// The optimizers of --optimizers, or the one of --optimizer.
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
  CLI::App app("Follow optimizers on a small problem with a known optimum, in float64, and print their paths.",
               "lehi trace");
  app.add_option("PROBLEM", config.problem, "a problem from `lehi trace --list`");
  app.add_flag("--list", config.list, "list the problems and exit");
  app.add_option("--steps", config.steps, "number of steps")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--start", start, "start point, as numbers separated by commas [default: the problem's]")
      ->type_name("W,...");
  app.add_flag("--json", config.json, "print one JSON document with all points of the paths");
  app.add_option("--svg", config.svg, "write a figure with contours and paths; for problems with two weights")
      ->type_name("FILE");
  add_optimizer_flags(app, flags);
  app.add_option("--optimizers", optimizers,
                 "several optimizers separated by commas, instead of --optimizer; lehi[lr=0.1,eps=1e-3] overrides the "
                 "flags above for one of them")
      ->type_name("NAME,...")
      ->excludes("--optimizer")
      ->group(optimizer_group);
  app.footer(
      "Examples:\n"
      "  lehi trace rosenbrock --optimizer lehi --lr 0.1 --steps 2000\n"
      "  lehi trace logistic-regression --optimizer adam --lr 0.05 --steps 500 --json\n"
      "  lehi trace rosenbrock --optimizers 'lehi[lr=0.05],lehi-gn[lr=0.05],adam[lr=0.05]' --svg paths.svg\n"
      "  lehi trace --list");
  parse_arguments(app, arguments);
  if (config.list) return config;
  if (config.problem.empty()) throw UsageError("name a problem; `lehi trace --list` lists them");
  const auto& problem = find_problem(config.problem);
  if (!start.empty()) config.start = parse_numbers("--start", start);
  if (!config.start.empty() && config.start.size() != problem.start.size()) {
    throw UsageError(
        fmt::format("--start: {} has {} weights, not {}", problem.name, problem.start.size(), config.start.size()));
  }
  if (!config.svg.empty() && problem.start.size() != 2) {
    throw UsageError(fmt::format("--svg: {} has {} weights; expected a problem with two weights such as rosenbrock",
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
  paths.reserve(config.optimizers.size());
  for (const auto& [variant, options] : config.optimizers) {
    paths.push_back(follow(problem, variant, options, start, config.steps));
  }
  if (!config.svg.empty()) {
    publish_text(config.svg, plot::to_svg(trace_figure(problem, paths)));
    err << fmt::format("lehi: wrote {}\n", config.svg);
  }
  if (config.several) {
    (config.json ? print_traces_json : print_traces)(problem, paths, out);
  } else {
    (config.json ? print_trace_json : print_trace)(problem, paths.front(), out);
  }
  for (const auto& path : paths) {
    if (!path.diverged) continue;
    err << fmt::format("lehi: {} diverged on {} at step {}; try a smaller --lr\n", path.variant, problem.name,
                       path.points.back().step);
  }
  // If some of several optimizers diverge, that is a result and not an error.
  const bool all = std::all_of(paths.begin(), paths.end(), [](const auto& path) { return path.diverged; });
  return all ? diverged : done;
}

}  // namespace lehi::cli
