// `lehi bench`: measures the speed and memory of this build on this machine as ratios with bounds.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "bench/session.h"
#include "cli/command.h"

namespace lehi::cli {

struct BenchConfig {
  bench::Settings settings;
  bool json = false;
  bool check = false;
  std::string report;     ///< an SVG file or a directory; "": none
  std::string memory_of;  ///< set in a process of the topic memory: the variant to train, see bench/memory.h
};

BenchConfig parse_bench(const Arguments& arguments);
int run_bench(const BenchConfig& config, std::ostream& out, std::ostream& err);

/// Prints the results. Returns the exit code: with --check, 1 for a bound that was missed or not measured.
int print_measurements(const BenchConfig& config, const std::vector<bench::Measurement>& measurements,
                       const std::vector<bench::Unmeasured>& unmeasured, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
