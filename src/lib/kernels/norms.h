// Sizes of a gradient in one pass over memory, the same bits whatever the number of threads.
#pragma once

#include <torch/types.h>

namespace lehi::kernels {

struct Norms {
  double sum_of_squares = 0.0;
  double largest = 0.0;  ///< max |x|; meaningless when not finite
  bool finite = true;    ///< no NaN, no infinity
};

Norms norms(const torch::Tensor& tensor);

/// No NaN, and no entry beyond `limit`, which is finite: a pass that costs less than norms().
bool is_within(const torch::Tensor& tensor, double limit);

/// No NaN, no infinity.
bool is_finite(const torch::Tensor& tensor);

}  // namespace lehi::kernels
