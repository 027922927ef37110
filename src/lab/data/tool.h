// Runs another program (npm, apt-get, tar, dpkg-deb) without a shell, and stops it when the user interrupts this one.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/signals.h"

namespace lehi::data {

/// Thrown after SIGINT or SIGTERM.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int number) : std::runtime_error("interrupted"), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

/// Throws Interrupted if a signal was received.
void throw_if_interrupted(const base::SignalWatch& watch);

/// Runs a program with these arguments (the first is looked up in PATH) in `folder`, without input, and waits for it.
/// If it fails, throws DataError with the last line of its output. If a signal is received, kills the program and its
/// children and throws Interrupted.
void run_tool(std::vector<std::string> arguments, const std::filesystem::path& folder, const base::SignalWatch& watch);

}  // namespace lehi::data
