#include "base/measure.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <chrono>

#include "lehi/runtime.h"

namespace lehi::base {
namespace {

// Seconds of the fastest call within 300 ms; the minimum is least disturbed by other programs.
double best_seconds(const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  work();  // touches the memory and starts the threads
  const auto begin = Clock::now();
  double best = 1e300;
  while (Clock::now() - begin < std::chrono::milliseconds(300)) {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

double sgemm_gflops() {
  constexpr std::int64_t n = 1024;  // three matrices of 4 MiB: large enough to hide the start of the threads
  const auto a = torch::rand({n, n});
  const auto b = torch::rand({n, n});
  auto c = torch::empty({n, n});
  return 2e-9 * n * n * n / best_seconds([&] { torch::mm_out(c, a, b); });
}

}  // namespace

Speed measure_speed(const std::function<void(std::string_view)>& progress) {
  const int threads = at::get_num_threads();
  Speed speed;
  progress("matrix product, one thread");
  runtime::set_threads(1);
  speed.sgemm_one_thread = sgemm_gflops();
  progress("matrix product, all threads");
  runtime::set_threads(threads);
  speed.sgemm_all_threads = sgemm_gflops();

  progress("memory");
  constexpr std::int64_t n = 32 << 20;  // 128 MiB each: more than any cache
  const auto a = torch::ones({n});
  const auto b = torch::ones({n});
  auto c = torch::empty({n});
  speed.copy = 1e-9 * 2 * 4 * n / best_seconds([&] { c.copy_(a); });
  speed.triad = 1e-9 * 3 * 4 * n / best_seconds([&] { torch::add_out(c, a, b, 2); });
  return speed;
}

}  // namespace lehi::base
