// Runs the program inside the test, or for real as a process of its own.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>

#include "cli/command.h"

namespace lehi::cli {

struct Result {
  int code = 0;
  std::string out;
  std::string err;

  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

inline Result run(const Arguments& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(arguments, out, err);
  return {code, out.str(), err.str()};
}

/// The built program through a shell: `command` may set variables before and redirect after "$LEHI".
inline Result run_process(const std::string& command) {
  std::FILE* pipe = popen(("LEHI='" LEHI_PROGRAM "'; " + command).c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell");
  Result result;
  std::array<char, 4096> buffer = {};
  while (const auto size = std::fread(buffer.data(), 1, buffer.size(), pipe)) result.out.append(buffer.data(), size);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace lehi::cli
