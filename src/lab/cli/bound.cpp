#include "cli/bound.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/arguments.h"
#include "cli/table.h"

namespace lehi::cli {

BoundConfig parse_bound(const Arguments& arguments) {
  BoundConfig config;
  auto& constants = config.constants;
  CLI::App app(
      "Evaluate the convergence bound of the LEHI paper (Theorem 3.2): an upper bound on the mean squared gradient "
      "norm over K steps. Report whether it is below the trivial bound.",
      "lehi bound");
  const auto number = [&app](const char* flag, const char* placeholder, double& value, const char* text) {
    app.add_option(flag, value, text)->type_name(placeholder)->capture_default_str()->check(finite());
  };
  number("--lr", "RATE", constants.lr, "learning rate a; above 0");
  number("--beta1", "B1", constants.beta1, "decay rate of m; at least 0 and below beta2");
  number("--beta2", "B2", constants.beta2, "decay rate of v; below 1");
  number("--eps", "EPS", constants.eps, "eps; above 0");
  number("--dimension", "D", constants.dimension, "number of weights d");
  number("--gradient-bound", "M", constants.gradient_bound, "M, where |g_i| and |s_i| stay below sqrt(M^2 - eps)");
  number("--lipschitz", "L", constants.lipschitz, "Lipschitz constant L of the gradient");
  number("--initial-gap", "GAP", constants.initial_gap, "initial gap f(w_1) - inf f");
  app.add_option("--steps", constants.steps, "number of steps K; above 1/(1 - beta1)")
      ->type_name("K")
      ->capture_default_str();
  app.add_flag("--json", config.json, "print one JSON document");
  app.footer(
      "Examples:\n"
      "  lehi bound --lr 0.01 --beta1 0 --beta2 0.9999 --eps 1e-12 --steps 1000000\n"
      "  lehi bound --lr 1e-3 --dimension 39760 --gradient-bound 0.5 --steps 11725 --json");
  parse_arguments(app, arguments);
  return config;
}

int run_bound(const BoundConfig& config, std::ostream& out, std::ostream& /*err*/) {
  const auto result = convergence_bound(config.constants);
  if (config.json) {
    const auto& c = config.constants;
    const nlohmann::ordered_json document = {
        {"schema", 1},
        {"constants",
         {{"lr", c.lr},
          {"beta1", c.beta1},
          {"beta2", c.beta2},
          {"eps", c.eps},
          {"dimension", c.dimension},
          {"gradient_bound", c.gradient_bound},
          {"lipschitz", c.lipschitz},
          {"initial_gap", c.initial_gap},
          {"steps", c.steps}}},
        {"value", result.value},
        {"gap_term", result.gap_term},
        {"log_term", result.log_term},
        {"drift_term", result.drift_term},
        {"trivial", result.trivial},
        {"vacuous", result.vacuous},
        {"caveat", bound_caveat()},
    };
    out << document.dump(2) << '\n';
    return done;
  }
  const auto line = [&out](std::string_view name, double value, std::string_view meaning) {
    out << fmt::format("{:<8} {:<14} {}\n", name, short_number(value), meaning);
  };
  line("bound", result.value, "upper bound on the mean squared gradient norm at a random iterate");
  line("  gap", result.gap_term, "initial gap; falls as 1/K");
  line("  log", result.log_term, "initial value of v; falls as 1/K");
  line("  drift", result.drift_term, "independent of K");
  line("trivial", result.trivial, "d M^2, the trivial bound");
  out << (result.vacuous ? "Vacuous: the bound is not below the trivial one.\n"
                         : "Not vacuous: the bound is below the trivial one.\n")
      << bound_caveat() << '\n';
  return done;
}

}  // namespace lehi::cli
