// Runs another program (npm, apt-get, tar, dpkg-deb): an argument vector, no shell, and an end when the user asks for
// one.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/signals.h"

namespace lehi::data {

/// SIGINT or SIGTERM arrived.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int number) : std::runtime_error("interrupted"), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

/// Throws Interrupted when the watch has seen a signal.
void throw_if_interrupted(const base::SignalWatch& watch);

/// Runs `arguments` (the first is looked up in PATH) in `folder`, without input, and waits. Throws DataError with the
/// last line that it printed when it fails, and, having stopped it and its children, Interrupted when the watch says
/// so.
void run_tool(std::vector<std::string> arguments, const std::filesystem::path& folder, const base::SignalWatch& watch);

}  // namespace lehi::data
