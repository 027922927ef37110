// `lehi bench`: how fast and how small this build is on this machine, as ratios with bounds.
#pragma once

#include <iosfwd>
#include <string>

#include "bench/session.h"
#include "cli/command.h"

namespace lehi::cli {

struct BenchConfig {
  bench::Settings settings;
  bool json = false;
  bool check = false;
  std::string report;     ///< an SVG file, or a directory; "": none
  std::string memory_of;  ///< what a process of the memory topic does, see bench/memory.h; "": nothing of the kind
};

BenchConfig parse_bench(const Arguments& arguments);
int run_bench(const BenchConfig& config, std::ostream& out, std::ostream& err);

/// What follows from the figures: they are printed, and with --check a missed or unmeasured bound is exit code 1.
int print_figures(const BenchConfig& config, const std::vector<bench::Measurement>& figures,
                  const std::vector<bench::Unmeasured>& unmeasured, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
