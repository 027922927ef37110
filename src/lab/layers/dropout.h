// Dropout whose mask is a function of where it is: of the step's key, the row's index within the step, the site in the
// model and the place in the row. So a mask can be made again instead of being kept, in parts and in any order.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "lehi/probe.h"

namespace lehi::layers {

class Dropout {
 public:
  /// probability 0: nothing is dropped, and the rest does not matter.
  Dropout(double probability, const RandomKey& key, std::uint32_t site);
  Dropout() = default;

  bool active() const { return probability_ > 0.0; }

  /// What the values at places [first, first + count) of a row of the batch are multiplied by: 0 or 1 / (1 - p).
  template <class T>
  void factors(std::int64_t row, std::int64_t first, std::int64_t count, T* out) const;

  /// The factors of every value; the first dimension counts rows, the others places. Undefined where not active.
  torch::Tensor mask(at::IntArrayRef sizes, const torch::TensorOptions& options) const;

 private:
  double probability_ = 0.0;
  std::uint64_t first_row_ = 0;
  std::uint32_t key0_ = 0;
  std::uint32_t key1_ = 0;
};

}  // namespace lehi::layers
