// The rows of a batch that a rank computes.
#pragma once

#include <cstdint>

namespace lehi::train {

struct Share {
  std::int64_t first = 0;
  std::int64_t length = 0;
};

/// Contiguous rows, in the order of the ranks. The lengths differ by at most 1.
constexpr Share share_of(std::int64_t rows, int rank, int size) {
  const std::int64_t first = rows * rank / size;
  return {first, rows * (rank + 1) / size - first};
}

}  // namespace lehi::train
