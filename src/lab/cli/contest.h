// `lehi contest`: optimizers tuned alike and compared at equal time, on several tasks.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"
#include "contest/run_contest.h"

namespace lehi::cli {

struct ContestConfig {
  contest::ContestRequest request;
  std::string show;      ///< --show: a directory whose result is printed; nothing is run
  std::string markdown;  ///< --markdown: a file
  bool json = false;
};

ContestConfig parse_contest(const Arguments& arguments);
int run_contest(const ContestConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
