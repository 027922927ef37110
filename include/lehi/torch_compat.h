// What differs between the LibTorch that is tested (1.13, Debian's) and LibTorch 2.x, in one place.
// 2.x should compile; it is untested until a machine with it has run the tests.
#pragma once

#include <torch/optim/optimizer.h>

#include <string>
#include <type_traits>

namespace lehi::compat {

/// The key of torch::optim::Optimizer::state(): the tensor's address, as text up to LibTorch 2.0, as a pointer since.
using StateKey = std::decay_t<decltype(std::declval<torch::optim::Optimizer&>().state())>::key_type;

template <class Key = StateKey>
Key state_key(const torch::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    return c10::guts::to_string(parameter.unsafeGetTensorImpl());
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

}  // namespace lehi::compat
