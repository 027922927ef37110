// Which loops run. `make test-kernels` links these tests with the loops of older instruction sets and sets
// LEHI_EXPECTED_LEVEL.
#include "kernels/level.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string>

namespace lehi::kernels {
namespace {

// The instruction sets of the first processor in /proc/cpuinfo, with a space around each; empty on other processors.
std::string cpu_flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) return line.substr(line.find(':') + 1) + " ";
  }
  return "";
}

Level level_of_cpu() {
  const std::string flags = cpu_flags();
  const auto has_all = [&](std::initializer_list<const char*> names) {
    for (const std::string name : names) {
      if (flags.find(" " + name + " ") == std::string::npos) return false;
    }
    return true;
  };
  if (!has_all({"avx2", "fma"})) return Level::baseline;
  return has_all({"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}) ? Level::v4 : Level::v3;
}

TEST(Level, IsTheRequestedOneOrTheBestOfThisMachine) {
  const char* expected = std::getenv("LEHI_EXPECTED_LEVEL");
  if (expected != nullptr) {
    EXPECT_EQ(loop_level(), std::string(expected) == "3" ? Level::v3 : Level::baseline);
  } else {
    EXPECT_EQ(loop_level(), level_of_cpu());
  }
}

}  // namespace
}  // namespace lehi::kernels
