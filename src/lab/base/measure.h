// What the machine gives in practice: matrix products and memory traffic, each as LibTorch runs them.
#pragma once

#include <functional>
#include <string_view>

namespace lehi::base {

struct Speed {
  double sgemm_one_thread = 0.0;   ///< GFLOP/s of a float32 matrix product on one thread
  double sgemm_all_threads = 0.0;  ///< the same on all of LibTorch's threads
  double copy = 0.0;               ///< GB/s of c = a, reads and writes counted, all threads
  double triad = 0.0;              ///< GB/s of c = a + 2 b
};

/// About two seconds. `progress` is told what is being measured. LibTorch's thread count is as before afterwards.
Speed measure_speed(const std::function<void(std::string_view)>& progress);

}  // namespace lehi::base
