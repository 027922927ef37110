// `lehi scaling`: how fast ranks talk here, and what steps with more of them would take.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"
#include "distributed/cost.h"

namespace lehi::cli {

struct ScalingConfig {
  int processes = 1;  ///< --nproc; 1: the launcher's ranks
  double parameters = 124'439'808;
  double seconds = 0.0;         ///< of an AdamW step on one rank
  double latency = 0.0;         ///< of a hop; 0: measured
  double bytes_per_second = 0;  ///< 0: measured
  int rounds = 0;
  bool json = false;
  Arguments arguments;  ///< as given
};

ScalingConfig parse_scaling(const Arguments& arguments);
int run_scaling(const ScalingConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
