// `lehi bound`: evaluates the published convergence bound and its terms.
#pragma once

#include <iosfwd>

#include "cli/command.h"
#include "lehi/bound.h"

namespace lehi::cli {

struct BoundConfig {
  BoundConstants constants;
  bool json = false;
};

BoundConfig parse_bound(const Arguments& arguments);
int run_bound(const BoundConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
