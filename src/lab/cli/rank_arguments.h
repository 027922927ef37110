// Helpers of commands with --nproc.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace lehi::cli {

/// Throws UsageError when a launcher (torchrun, mpirun, srun) has started this process and --nproc would start more.
void check_nproc(int processes);

/// The command line of a rank: its parent's without --nproc.
std::vector<std::string> rank_arguments(const std::string& command, const Arguments& arguments);

}  // namespace lehi::cli
