#include "cli/rank_arguments.h"

#include "distributed/launch.h"

namespace lehi::cli {

void check_nproc(int processes) {
  if (processes > 1 && distributed::launch_of_process()) {
    throw UsageError("--nproc starts its own ranks; leave it out under torchrun, mpirun or srun");
  }
}

std::vector<std::string> rank_arguments(const std::string& command, const Arguments& arguments) {
  std::vector<std::string> result = {"lehi", command};
  for (auto given = arguments.begin(); given != arguments.end(); ++given) {
    if (given->starts_with("--nproc=")) continue;
    if (*given == "--nproc") {
      ++given;  // skip its value
      continue;
    }
    result.push_back(*given);
  }
  return result;
}

}  // namespace lehi::cli
