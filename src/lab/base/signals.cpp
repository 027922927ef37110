#include "base/signals.h"

namespace lehi::base {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): all that a signal handler may touch
volatile std::sig_atomic_t arrived = 0;

void note(int number) {
  if (arrived != 0) {
    // NOLINTBEGIN(cert-sig30-c,bugprone-signal-handler): POSIX lists both as safe here
    std::signal(number, SIG_DFL);
    std::raise(number);
    // NOLINTEND(cert-sig30-c,bugprone-signal-handler)
  }
  arrived = number;
}

}  // namespace

SignalWatch::SignalWatch() {
  arrived = 0;
  struct sigaction action {};
  action.sa_handler = &note;
  sigaction(SIGINT, &action, &before_interrupt_);
  sigaction(SIGTERM, &action, &before_terminate_);
}

SignalWatch::~SignalWatch() {
  sigaction(SIGINT, &before_interrupt_, nullptr);
  sigaction(SIGTERM, &before_terminate_, nullptr);
}

int SignalWatch::received() const { return arrived; }  // NOLINT(readability-convert-member-functions-to-static)

}  // namespace lehi::base
