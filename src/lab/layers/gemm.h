// Products of submatrices, row-major, by the BLAS that LibTorch has loaded: as at::mm, but without a tensor for each
// submatrix. BLAS decides on its threads; inside of a parallel loop it uses the calling thread only.
#pragma once

#include <cstdint>

namespace lehi::layers {

/// A factor of a product. Stored rows are `stride` entries apart; `transposed`: the factor is the transpose of what is
/// stored.
template <class T>
struct Factor {
  const T* data = nullptr;
  std::int64_t stride = 0;
  bool transposed = false;
};

/// result[rows, columns] = keep * result + scale * left[rows, inner] right[inner, columns]; with keep 0, result is not
/// read.
template <class T>
void multiply_add(std::int64_t rows, std::int64_t columns, std::int64_t inner, T scale, Factor<T> left, Factor<T> right,
                  T keep, T* result, std::int64_t result_stride);

}  // namespace lehi::layers
