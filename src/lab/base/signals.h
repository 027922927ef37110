// SIGINT and SIGTERM as a request to stop in good order.
#pragma once

#include <csignal>

namespace lehi::base {

/// While it lives, the first SIGINT or SIGTERM is noted instead of ending the process; the second one ends it at once.
/// One at a time.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch(SignalWatch&&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  SignalWatch& operator=(SignalWatch&&) = delete;

  /// The signal that has arrived, or 0.
  int received() const;

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_terminate_ {};
};

}  // namespace lehi::base
