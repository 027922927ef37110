#include "train/threads.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "lehi/runtime.h"

namespace lehi::train {
namespace {

// Smaller models use one thread: MNIST's MLP takes three quarters of the time with a second one on a quiet machine, but
// more than ten times as long if another program keeps a core busy, because each of its short parallel sections then
// waits for the scheduler.
constexpr std::int64_t parameters_worth_threads = 1'000'000;

}  // namespace

int set_threads(const RunConfig& config, std::int64_t parameters, int ranks_here) {
  const auto threads = config.threads > 0                      ? config.threads
                       : parameters < parameters_worth_threads ? 1
                                                               : std::max(1, at::get_num_threads() / ranks_here);
  runtime::set_threads(static_cast<int>(threads));
  return at::get_num_threads();
}

}  // namespace lehi::train
