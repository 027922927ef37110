// `lehi trace`: the path of an optimizer on a small problem that knows its optimum.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"
#include "lehi/options.h"

namespace lehi::cli {

struct TraceConfig {
  std::string problem;
  Options options;
  std::int64_t steps = 1000;
  std::vector<double> start;  ///< empty: the problem's own
  bool list = false;          ///< list the problems instead
  bool json = false;
};

TraceConfig parse_trace(const Arguments& arguments);
int run_trace(const TraceConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
