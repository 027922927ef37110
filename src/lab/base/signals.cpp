#include "base/signals.h"

namespace lehi::base {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the only kind of object a handler may write
volatile std::sig_atomic_t received_signal = 0;

void record_signal(int number) {
  if (received_signal != 0) {
    // NOLINTBEGIN(cert-sig30-c,bugprone-signal-handler): POSIX lists both functions as safe in a handler
    std::signal(number, SIG_DFL);
    std::raise(number);
    // NOLINTEND(cert-sig30-c,bugprone-signal-handler)
  }
  received_signal = number;
}

}  // namespace

SignalWatch::SignalWatch() {
  received_signal = 0;
  struct sigaction action {};
  action.sa_handler = &record_signal;
  sigaction(SIGINT, &action, &before_interrupt_);
  sigaction(SIGTERM, &action, &before_terminate_);
}

SignalWatch::~SignalWatch() {
  sigaction(SIGINT, &before_interrupt_, nullptr);
  sigaction(SIGTERM, &before_terminate_, nullptr);
}

// NOLINTNEXTLINE(readability-convert-member-functions-to-static): meaningful only while a watch exists
int SignalWatch::received() const { return received_signal; }

}  // namespace lehi::base
