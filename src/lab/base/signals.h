// SIGINT and SIGTERM as a request to stop cleanly.
#pragma once

#include <csignal>

namespace lehi::base {

/// During its lifetime the first SIGINT or SIGTERM is recorded instead of ending the process; a second one ends the
/// process at once. Only one watch may exist at a time.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch(SignalWatch&&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  SignalWatch& operator=(SignalWatch&&) = delete;

  /// The signal received so far, or 0.
  int received() const;

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_terminate_ {};
};

}  // namespace lehi::base
