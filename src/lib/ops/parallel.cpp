#include "ops/parallel.h"

#include <ATen/Parallel.h>

namespace lehi::ops {

kernels::ParallelFor at_parallel_for() {
  return {.run = [](void* /*context*/, std::int64_t size, std::int64_t grain, const kernels::LoopBody& body) {
    at::parallel_for(0, size, grain, body);
  }};
}

}  // namespace lehi::ops
