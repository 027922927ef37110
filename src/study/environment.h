// The environment that a study's runs see. mpirun, srun and torchrun tell a process by environment variables that it is
// one of many; a run of a study is one process, whatever its study was started by, and must not take itself for a rank.
#pragma once

#include <string>
#include <vector>

namespace lehi::study {

/// This process's own, as "NAME=value".
std::vector<std::string> whole_environment();

/// The same without what makes a process a rank.
std::vector<std::string> environment_without_ranks();

}  // namespace lehi::study
