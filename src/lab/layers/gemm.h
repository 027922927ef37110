// Products of parts of larger matrices, row-major, on the calling thread or on BLAS's: what at::mm does, without making
// tensors of the parts. The BLAS is the one that LibTorch has loaded.
#pragma once

#include <cstdint>

namespace lehi::layers {

/// Rows lie `stride` apart; transposed: the matrix is the transpose of what is stored.
template <class T>
struct Factor {
  const T* data;
  std::int64_t stride;
  bool transposed = false;
};

/// result[rows, columns] = keep * result + scale * left[rows, inner] right[inner, columns]; keep 0 does not read it.
template <class T>
void multiply_add(std::int64_t rows, std::int64_t columns, std::int64_t inner, T scale, Factor<T> left, Factor<T> right,
                  T keep, T* result, std::int64_t result_stride);

}  // namespace lehi::layers
