// `lehi list`: the optimizers, losses and probes by name, with what they are made of.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"

namespace lehi::cli {

struct ListConfig {
  std::string what;  ///< "optimizers", "losses" or "probes"
  bool json = false;
};

ListConfig parse_list(const Arguments& arguments);
int run_list(const ListConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
