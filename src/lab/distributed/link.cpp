#include "distributed/link.h"

#include <torch/types.h>

#include <algorithm>
#include <chrono>

namespace lehi::distributed {
namespace {

constexpr std::int64_t large_floats = 25 * (1 << 20) / 4;
constexpr double large_bytes = 4.0 * large_floats;

double median_seconds(Ranks& ranks, std::int64_t floats, int rounds) {
  const torch::Tensor values = torch::zeros({floats});
  std::vector<double> times;
  for (int round = -2; round < rounds; ++round) {  // the first two open connections and touch memory
    const auto start = std::chrono::steady_clock::now();
    ranks.begin_sum(values)();
    if (round >= 0) times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

SumTimes measure_sums(Ranks& ranks, int rounds) {
  return {.small = median_seconds(ranks, 1, 10 * rounds),
          .medium = median_seconds(ranks, large_floats / 25, 4 * rounds),
          .large = median_seconds(ranks, large_floats, rounds)};
}

Link link_from(const SumTimes& times, int ranks) {
  const double others = ranks - 1;
  const double travel = std::max(times.large - times.small, 1e-9);
  return {.latency = times.small / (2.0 * others), .bytes_per_second = 2.0 * others / ranks * large_bytes / travel};
}

const std::vector<SummedBytes>& summed_bytes() {
  static const std::vector<SummedBytes> table = {
      {"adamw", 4.0}, {"lehi", 8.0}, {"lehibrid", 6.0}, {"lehi-gn", 4.4}, {"sophia-g", 4.4}};
  return table;
}

}  // namespace lehi::distributed
