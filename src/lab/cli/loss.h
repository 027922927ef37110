// `lehi loss`: evaluates a loss at one row of predictions: value, gradient u, probe v and second derivatives.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/loss_table.h"
#include "lehi/probe.h"

namespace lehi::cli {

struct LossConfig {
  std::string loss;
  std::vector<double> predictions;
  std::vector<double> target;  ///< one number per prediction or, for cross-entropy, one class index
  LossNumbers numbers;
  Probe probe = Probe::imitation;
  std::uint64_t seed = 0;  ///< of a random probe
  bool single_precision = false;
  bool json = false;
};

LossConfig parse_loss(const Arguments& arguments);
int run_loss(const LossConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
