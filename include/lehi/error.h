// What the library throws. A user's mistake is a std::invalid_argument whose text says what was wrong, where, and what
// was expected; a number that stopped being one is a NonFiniteError, so that a training loop can tell the two apart.
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
