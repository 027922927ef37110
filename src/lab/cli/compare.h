// `lehi compare`: several optimizers on one task, each at one rate, under the same budget and seeds; one table.
#pragma once

#include <iosfwd>

#include "cli/command.h"
#include "cli/study_flags.h"

namespace lehi::cli {

StudyConfig parse_compare(const Arguments& arguments);
int run_compare(const StudyConfig& config, std::ostream& out, std::ostream& err);

}  // namespace lehi::cli
