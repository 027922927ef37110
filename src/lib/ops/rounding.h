// Rounds float32 results to weights of 16 bits. A step is often smaller than half a unit in the last place of such a
// weight: rounded to the nearest number, the weight would never move. Rounded up or down at random, with the
// probabilities that make the mean right, it moves as often as it should.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "lehi/probe.h"

namespace lehi::ops {

/// The draw for a weight depends on nothing but the key and the weight's index in memory, first + position.
struct WeightRounding {
  bool stochastic = false;  ///< else to nearest, ties to even
  RandomKey key = {};       ///< stream: of the parameter
  std::int64_t first = 0;   ///< index of the first weight, where a tensor is a piece of a parameter
};

/// bfloat16 or float16.
bool is_sixteen_bit(torch::Dtype dtype);

/// `count` numbers to `weights`, which are c10::BFloat16 or c10::Half; the first has the index `begin` in the tensor.
template <class Narrow>
void store_rounded(const float* values, Narrow* weights, std::int64_t begin, std::int64_t count,
                   const WeightRounding& rounding);

/// weights <- values, of the same shape. Other types than the 16-bit ones are converted as copy_() does.
void store_rounded(const torch::Tensor& weights, const torch::Tensor& values, const WeightRounding& rounding);

}  // namespace lehi::ops
