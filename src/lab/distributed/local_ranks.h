// `lehi train --nproc N`: the ranks of one machine, started by their own parent, which keeps the store where they meet.
#pragma once

#include <string>
#include <vector>

namespace lehi::distributed {

/// Runs the program N times, as torchrun would; returns when all have ended. Signals that this process gets are passed
/// on, and no rank outlives it. The result is rank 0's exit code, or 1 where that was 0 and another's was not, or where
/// it was ended by a signal. `program` is a path, `arguments` begin with its name.
int run_local_ranks(int ranks, const std::string& program, const std::vector<std::string>& arguments);

}  // namespace lehi::distributed
