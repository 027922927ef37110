// Exceptions of the library. User errors are std::invalid_argument with a message that says what is wrong, where, and
// what was expected. NaN and infinite values are NonFiniteError, so that a training loop can distinguish the two.
#pragma once

#include <stdexcept>
#include <string>

namespace lehi {

/// A prediction, gradient or probe was NaN or infinite. Training diverged, or its input was already broken.
class NonFiniteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lehi
