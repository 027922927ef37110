// The environment of a child process. mpirun, srun and torchrun set variables that make a process a rank of many. A
// child must not inherit them: a run of a study is a process of its own, and a rank of --nproc gets its own variables.
#pragma once

#include <string>
#include <vector>

namespace lehi::distributed {

/// This process's environment, as "NAME=value".
std::vector<std::string> whole_environment();

/// The same without the variables that make a process a rank.
std::vector<std::string> environment_without_ranks();

}  // namespace lehi::distributed
