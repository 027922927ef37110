// The soak's clock and its flag for a stop by signal.
#pragma once

#include <chrono>
#include <csignal>

namespace lehi::faults {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

inline volatile std::sig_atomic_t interrupted = 0;  // NOLINT: the only type that a signal handler may write

}  // namespace lehi::faults
