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
      "Evaluates the bound of the paper's Theorem 3.2 on the mean squared gradient norm of a run of K steps, as "
      "published, and says when it is vacuous.",
      "lehi bound");
  const auto number = [&app](const char* name, double& value, const char* text) {
    app.add_option(name, value, text)->capture_default_str()->check(finite());
  };
  number("--lr", constants.lr, "learning rate a, above 0");
  number("--beta1", constants.beta1, "decay of m, from 0 to below beta2");
  number("--beta2", constants.beta2, "decay of v, below 1");
  number("--eps", constants.eps, "above 0");
  number("--dimension", constants.dimension, "number of weights d");
  number("--gradient-bound", constants.gradient_bound, "M: |g_i| and |s_i| stay below sqrt(M^2 - eps)");
  number("--lipschitz", constants.lipschitz, "L of the gradient");
  number("--initial-gap", constants.initial_gap, "f(w_1) - inf f");
  app.add_option("--steps", constants.steps, "K, more than 1/(1 - beta1)")->capture_default_str();
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
  line("bound", result.value, "on the mean squared gradient norm at a random iterate");
  line("  gap", result.gap_term, "from the distance to go; falls as 1/K");
  line("  log", result.log_term, "from the start of v; falls as 1/K");
  line("  drift", result.drift_term, "stays however long the run");
  line("trivial", result.trivial, "d M^2, which holds without any theorem");
  out << (result.vacuous ? "Vacuous: the bound is not below the trivial one, so it says nothing.\n"
                         : "Not vacuous: the bound is below the trivial one.\n")
      << bound_caveat() << '\n';
  return done;
}

}  // namespace lehi::cli
