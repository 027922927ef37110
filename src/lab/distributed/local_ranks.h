// `lehi train --nproc N`: starts the ranks of one machine as child processes and serves the store where they meet.
#pragma once

#include <string>
#include <vector>

namespace lehi::distributed {

/// Starts the program once a rank, as torchrun does, and returns when all ranks have ended. A signal to this process
/// goes to all ranks, and no rank outlives it. Returns rank 0's exit code; 1 if a signal ended rank 0, or if rank 0
/// returned 0 and another rank did not. `program` is a path, `arguments` begin with its name.
int run_local_ranks(int ranks, const std::string& program, const std::vector<std::string>& arguments);

}  // namespace lehi::distributed
