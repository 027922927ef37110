// How many threads a run uses.
#pragma once

#include <cstdint>

#include "train/config.h"

namespace lehi::train {

/// Sets the threads of LibTorch and BLAS to train.threads and returns their number. If train.threads is 0, a small
/// model gets one thread; otherwise the current number is divided by the ranks on this host.
int set_threads(const RunConfig& config, std::int64_t parameters, int ranks_here = 1);

}  // namespace lehi::train
