// What the soak trains: tables, images, text and studies, small enough for hundreds of runs an hour.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"

namespace lehi::faults {

struct Scenario {
  std::string name;
  bool study = false;
  cli::Arguments words;  ///< but for --out
};

constexpr std::size_t tables = 6;  ///< that many of the scenarios, the first ones, are tables

/// All of them, with their data in `folder`; real images where `data_dir` has them.
std::vector<Scenario> scenarios_in(const std::filesystem::path& folder, const std::string& data_dir);

cli::Arguments joined(cli::Arguments words, const cli::Arguments& more);

}  // namespace lehi::faults
