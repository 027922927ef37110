// `lehi trace`: the paths of optimizers on a small problem that knows its optimum.
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
  bool several = false;  ///< --optimizers: one row each, and a list in the JSON document
  std::int64_t steps = 1000;
  std::vector<double> start;  ///< empty: the problem's own
  std::string svg;            ///< the file to write a figure to; "": none
  bool list = false;          ///< list the problems instead
  bool json = false;
};

TraceConfig parse_trace(const Arguments& arguments);
int run_trace(const TraceConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
