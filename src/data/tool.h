// Runs another program (npm, apt-get, tar, dpkg-deb): an argument vector, no shell, and an end when the user asks for
// one.
#pragma once

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace lehi::data {

/// SIGINT or SIGTERM arrived.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int number) : std::runtime_error("interrupted"), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

/// While it lives, SIGINT and SIGTERM are noted instead of ending the process. One at a time.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch(SignalWatch&&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  SignalWatch& operator=(SignalWatch&&) = delete;

  /// Throws Interrupted when a signal has arrived.
  void check() const;

 private:
  struct sigaction before_interrupt_ {};
  struct sigaction before_terminate_ {};
};

/// Runs `arguments` (the first is looked up in PATH) in `folder`, without input, and waits. Throws DataError with the
/// last line that it printed when it fails, and, having stopped it and its children, Interrupted when the watch says
/// so.
void run_tool(std::vector<std::string> arguments, const std::filesystem::path& folder, const SignalWatch& watch);

}  // namespace lehi::data
