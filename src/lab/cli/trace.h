// `lehi trace`: follows optimizers on a small problem with a known optimum.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"
#include "lehi/options.h"

namespace lehi::cli {

struct TracedOptimizer {
  std::string variant;  ///< as the user wrote it: "lehi", "lehi[lr=0.1]"
  Options options;
};

struct TraceConfig {
  std::string problem;
  std::vector<TracedOptimizer> optimizers;
  bool several = false;  ///< --optimizers: print one row each, or a list in the JSON document
  std::int64_t steps = 1000;
  std::vector<double> start;  ///< empty: the problem's start
  std::string svg;            ///< file for the figure; "": none
  bool list = false;          ///< list the problems instead
  bool json = false;
};

TraceConfig parse_trace(const Arguments& arguments);
int run_trace(const TraceConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
