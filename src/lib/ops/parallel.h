// LibTorch's threads for the loops of src/lib/kernels.
#pragma once

#include "kernels/parallel.h"

namespace lehi::ops {

/// at::parallel_for as the kernels call it.
kernels::ParallelFor at_parallel_for();

}  // namespace lehi::ops
