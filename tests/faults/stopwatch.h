// How long the soak has been at it, and whether somebody wants it to stop.
#pragma once

#include <chrono>
#include <csignal>

namespace lehi::faults {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline volatile std::sig_atomic_t interrupted = 0;  // NOLINT: all that a signal handler may touch

}  // namespace lehi::faults
