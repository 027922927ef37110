// Size of an array in one pass over memory, with the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "kernels/parallel.h"

namespace lehi::kernels {

struct Norms {
  double sum_of_squares = 0.0;
  double largest = 0.0;  ///< max |x|; unspecified when not finite
  bool finite = true;    ///< no NaN, no infinity
};

/// Of x[0..size).
Norms norms(const float* x, std::int64_t size, const ParallelFor& parallel = {});
Norms norms(const double* x, std::int64_t size, const ParallelFor& parallel = {});

/// True when x[0..size) has no NaN and no entry with |x| > limit; `limit` must be finite. Cheaper than norms().
bool is_within(const float* x, std::int64_t size, double limit, const ParallelFor& parallel = {});
bool is_within(const double* x, std::int64_t size, double limit, const ParallelFor& parallel = {});

}  // namespace lehi::kernels
