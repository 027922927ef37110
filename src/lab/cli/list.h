// `lehi list`: lists the tasks, optimizers, losses or probes with their properties.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"

namespace lehi::cli {

struct ListConfig {
  std::string what;  ///< "tasks", "optimizers", "losses" or "probes"
  bool json = false;
};

ListConfig parse_list(const Arguments& arguments);
int run_list(const ListConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
