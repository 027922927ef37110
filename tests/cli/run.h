// Runs the program in the test's process or as a child process.
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

/// Runs the built program in a shell. `command` calls it as "$LEHI" and may set variables and redirect output.
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
