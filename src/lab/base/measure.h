// Measures the speed of this machine: matrix products and memory traffic, as LibTorch runs them.
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

/// Takes about two seconds. Calls `progress` with the name of each measurement. Restores LibTorch's thread count.
Speed measure_speed(const std::function<void(std::string_view)>& progress);

}  // namespace lehi::base
