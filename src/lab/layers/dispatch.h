// float32 or float64: calls `body` with a value of the tensor's type.
#pragma once

#include <torch/types.h>

#include "runtime/message.h"

namespace lehi::layers {

template <class Body>
decltype(auto) by_dtype(const torch::Tensor& tensor, Body&& body) {
  if (tensor.scalar_type() == torch::kFloat32) return body(float{});
  if (tensor.scalar_type() == torch::kFloat64) return body(double{});
  throw_invalid_argument("a layer was given {}; expected float32 or float64", c10::toString(tensor.scalar_type()));
}

}  // namespace lehi::layers
