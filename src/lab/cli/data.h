// `lehi data list|get|verify`: lists, downloads and verifies the tasks' data files.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/command.h"

namespace lehi::cli {

struct DataConfig {
  std::string action;              ///< "list", "get" or "verify"
  std::vector<std::string> tasks;  ///< empty: all (get needs at least one)
  std::string data_dir;
  bool json = false;
};

DataConfig parse_data(const Arguments& arguments);

/// Returns 3 when a file is damaged or a file of a named task is missing, 130 or 143 when a signal stopped a download.
int run_data(const DataConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
