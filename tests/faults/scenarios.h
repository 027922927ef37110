// The runs and studies of the soak: tables, images and text, small enough for hundreds of runs per hour.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"

namespace lehi::faults {

struct Scenario {
  std::string name;
  bool study = false;
  cli::Arguments words;  ///< without --out
};

constexpr std::size_t tables = 6;  ///< the number of first scenarios that are tables

/// All scenarios; writes their data to `folder`. Uses real images if `data_dir` has them.
std::vector<Scenario> scenarios_in(const std::filesystem::path& folder, const std::string& data_dir);

cli::Arguments joined(cli::Arguments words, const cli::Arguments& more);

}  // namespace lehi::faults
