// What commands with --nproc share.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace lehi::cli {

/// --nproc starts ranks, so it makes no sense for one that a launcher has started. Throws UsageError.
void refuse_nproc_under_launcher(int processes);

/// The command line of a rank: that of its parent without --nproc.
std::vector<std::string> rank_arguments(const std::string& command, const Arguments& arguments);

}  // namespace lehi::cli
