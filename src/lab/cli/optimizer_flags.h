// The flags that choose an optimizer and override its numbers.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "lehi/options.h"

namespace lehi::cli {

/// Unset values are taken from the preset.
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

/// The title of these flags in the help text.
inline constexpr const char* optimizer_group = "Optimizer (defaults: those of `lehi list optimizers`)";

/// The preset with the flags' values. Throws std::invalid_argument for a value out of range.
Options resolve(const OptimizerFlags& flags);

}  // namespace lehi::cli
