// `lehi compare`: trains several optimizers on one task with the same budget and seeds and prints one table.
#pragma once

#include <iosfwd>

#include "cli/command.h"
#include "cli/study_command.h"

namespace lehi::cli {

StudyConfig parse_compare(const Arguments& arguments);
int run_compare(const StudyConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
