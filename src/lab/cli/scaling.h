// `lehi scaling`: measures latency and bandwidth between the ranks, and prints the bytes that a step sums.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"

namespace lehi::cli {

struct ScalingConfig {
  int processes = 1;  ///< --nproc; 1: the launcher's ranks
  double parameters = 124'439'808;
  int rounds = 15;
  bool json = false;
  Arguments arguments;  ///< as given
};

ScalingConfig parse_scaling(const Arguments& arguments);
int run_scaling(const ScalingConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
