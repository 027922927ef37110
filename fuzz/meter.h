// Counts the bytes that the process has allocated in any way: operator new, malloc, LibTorch's aligned memory.
#pragma once

#include <cstddef>

namespace lehi::fuzz {

/// Measures from its construction on. Only one may exist at a time.
class Meter {
 public:
  Meter();
  /// The largest number of bytes in use at once, minus those in use at construction.
  std::size_t peak() const;

 private:
  long long begin_;
};

}  // namespace lehi::fuzz
