// Dropout with a mask that is a function of the step's key, the row's index within the step, the site in the model and
// the position in the row. So the backward pass can recompute a mask, in parts and in any order, instead of keeping it.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "lehi/probe.h"

namespace lehi::layers {

class Dropout {
 public:
  /// `site` distinguishes the dropouts of a model. With probability 0 nothing is dropped, and `key` and `site` are
  /// unused.
  Dropout(double probability, const RandomKey& key, std::uint32_t site);
  Dropout() = default;

  bool active() const { return probability_ > 0.0; }

  /// The factors, 0 or 1 / (1 - p), of the values at positions [first, first + count) of a row of the batch.
  template <class T>
  void factors(std::int64_t row, std::int64_t first, std::int64_t count, T* out) const;

  /// The factors of a tensor of these sizes, whose first dimension is rows. Undefined where not active.
  torch::Tensor mask(at::IntArrayRef sizes, const torch::TensorOptions& options) const;

 private:
  double probability_ = 0.0;
  std::uint64_t first_row_ = 0;
  std::uint32_t key0_ = 0;
  std::uint32_t key1_ = 0;
};

}  // namespace lehi::layers
