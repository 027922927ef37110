// The flags that choose an optimizer and change its numbers, for every command that runs one; and how its parts are
// told.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lehi/options.h"

namespace lehi::cli {

/// What the user gave; unset numbers take the preset's.
struct OptimizerFlags {
  std::string optimizer = "lehi";
  std::optional<double> lr;
  std::optional<double> beta1;
  std::optional<double> beta2;
  std::optional<double> eps;
  std::optional<double> weight_decay;
  std::optional<double> momentum;
  std::optional<double> rho;
  std::optional<double> clip_norm;
  std::optional<std::int64_t> refresh_every;
  std::optional<std::int64_t> dense;
  std::optional<std::string> probe;
  std::optional<std::string> scale;
  std::optional<std::string> mix;
  std::uint64_t seed = 0;
  bool nesterov = false;
};

void add_optimizer_flags(CLI::App& app, OptimizerFlags& flags);

/// The preset with the user's changes, checked. Throws std::invalid_argument.
Options resolve(const OptimizerFlags& flags);

/// "every step", "every step, alternating with gradient", "every 10 steps after 200 dense ones".
std::string describe_schedule(const Schedule& schedule);

/// Probe, schedule, accumulator, mix, rule and scale by name.
nlohmann::ordered_json recipe_json(const Recipe& recipe);

/// lr, beta1, beta2, eps, ...
nlohmann::ordered_json numbers_json(const GroupOptions& options);

}  // namespace lehi::cli
