// The link between the ranks of a data-parallel run, as `lehi scaling` measures it, and the bytes that a step sums.
//
// Gloo sums in a ring: with P ranks a message makes 2 (P - 1) hops, and of B bytes each rank sends and receives
// 2 (P - 1) / P B. So the time of a small sum gives the latency of a hop, and that of a large one the bandwidth.
// docs/guides/scaling.md has the time of a step that follows from both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lehi/ranks.h"

namespace lehi::distributed {

/// Between two neighbours of the ring.
struct Link {
  double latency = 0.0;           ///< seconds a hop
  double bytes_per_second = 1.0;  ///< that a rank sends
};

/// Median seconds of a sum over all ranks, on this rank's clock.
struct SumTimes {
  double small = 0.0;   ///< of 4 bytes
  double medium = 0.0;  ///< of 1 MiB
  double large = 0.0;   ///< of 25 MiB, the default bucket
};

/// All ranks must call it. The large sum runs `rounds` times, the smaller ones more often.
SumTimes measure_sums(Ranks& ranks, int rounds);

/// Latency and bandwidth from the times of the small and the large sum.
Link link_from(const SumTimes& times, int ranks);

/// What a step of an optimizer sums over the ranks: 4 bytes a weight and vector.
struct SummedBytes {
  std::string optimizer;
  double bytes_a_weight = 0.0;  ///< a step, on average
};

/// The optimizers of the paper, and the amortised ones with a refresh every 10 steps.
const std::vector<SummedBytes>& summed_bytes();

}  // namespace lehi::distributed
