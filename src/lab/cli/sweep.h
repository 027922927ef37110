// `lehi sweep`: trains optimizers x learning rates x seeds on one or more tasks, in one phase or two, and prints the
// scores by learning rate.
#pragma once

#include <iosfwd>

#include "cli/command.h"
#include "cli/study_command.h"

namespace lehi::cli {

StudyConfig parse_sweep(const Arguments& arguments);
int run_sweep(const StudyConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
