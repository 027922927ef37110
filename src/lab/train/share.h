// Which of a batch's rows a rank takes.
#pragma once

#include <cstdint>

namespace lehi::train {

struct Share {
  std::int64_t first = 0;
  std::int64_t length = 0;
};

/// Each row belongs to one rank, neighbours to the same or the next one, and no rank has two more than another.
constexpr Share share_of(std::int64_t rows, int rank, int size) {
  const std::int64_t first = rows * rank / size;
  return {first, rows * (rank + 1) / size - first};
}

}  // namespace lehi::train
