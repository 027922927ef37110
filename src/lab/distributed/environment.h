// The environment that a child process gets. mpirun, srun and torchrun tell a process by environment variables that it
// is one of many; a child must not inherit that: a run of a study is one process, and a rank of --nproc has its own.
#pragma once

#include <string>
#include <vector>

namespace lehi::distributed {

/// This process's own, as "NAME=value".
std::vector<std::string> whole_environment();

/// The same without what makes a process a rank.
std::vector<std::string> environment_without_ranks();

}  // namespace lehi::distributed
