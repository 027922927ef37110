// `lehi eval TASK --weights FILE`: evaluates model weights on a task.
#pragma once

#include <iosfwd>
#include <string>

#include "cli/command.h"
#include "train/config.h"

namespace lehi::cli {

struct EvalConfig {
  train::RunConfig run;
  std::string weights;
  std::string data_dir;
  bool json = false;
};

EvalConfig parse_eval(const Arguments& arguments);
int run_eval(const EvalConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
