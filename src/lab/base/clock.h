// Time that only goes forward.
#pragma once

#include <chrono>

namespace lehi::base {

/// Seconds since some moment in the past.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lehi::base
