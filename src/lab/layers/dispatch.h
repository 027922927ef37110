// Calls `body` with a float or a double, as the tensor's dtype is.
#pragma once

#include <torch/types.h>

#include "runtime/message.h"

namespace lehi::layers {

template <class Body>
decltype(auto) by_dtype(const torch::Tensor& tensor, Body&& body) {
  if (tensor.scalar_type() == torch::kFloat32) return body(float{});
  if (tensor.scalar_type() == torch::kFloat64) return body(double{});
  throw_invalid_argument("the dtype of a layer's input is {}; expected float32 or float64",
                         c10::toString(tensor.scalar_type()));
}

}  // namespace lehi::layers
