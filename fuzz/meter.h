// Counts the bytes that the process has allocated, by whatever way: operator new, malloc, LibTorch's aligned memory.
#pragma once

#include <cstddef>

namespace lehi::fuzz {

/// From its construction on. One at a time.
class Meter {
 public:
  Meter();
  /// The most bytes that were in use at once, beyond those at the beginning.
  std::size_t peak() const;

 private:
  long long begin_;
};

}  // namespace lehi::fuzz
