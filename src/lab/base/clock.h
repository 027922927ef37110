// A monotonic clock.
#pragma once

#include <chrono>

namespace lehi::base {

/// Seconds since an unspecified moment in the past; never decreases.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lehi::base
