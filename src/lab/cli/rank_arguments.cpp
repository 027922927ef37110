#include "cli/rank_arguments.h"

#include "distributed/launch.h"

namespace lehi::cli {

void refuse_nproc_under_launcher(int processes) {
  if (processes > 1 && distributed::launch_of_process()) {
    throw UsageError("--nproc starts ranks itself: leave it out under torchrun, mpirun or srun.");
  }
}

std::vector<std::string> rank_arguments(const std::string& command, const Arguments& arguments) {
  std::vector<std::string> result = {"lehi", command};
  for (auto given = arguments.begin(); given != arguments.end(); ++given) {
    if (given->starts_with("--nproc=")) continue;
    if (*given == "--nproc") {
      ++given;  // its number
      continue;
    }
    result.push_back(*given);
  }
  return result;
}

}  // namespace lehi::cli
