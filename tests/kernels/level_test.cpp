// Which loops run: `make test-kernels` links these tests with those of older instruction sets, and says which.
#include "kernels/level.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "lehi/runtime.h"

namespace lehi::kernels {
namespace {

TEST(Level, IsTheOneThatWasAskedForOrTheBestOfThisMachine) {
  const auto units = runtime::describe_host().vector_units;
  const char* expected = std::getenv("LEHI_EXPECTED_LEVEL");
  if (expected != nullptr) {
    EXPECT_EQ(loop_level(), std::string(expected) == "3" ? Level::v3 : Level::baseline);
  } else {
    EXPECT_EQ(loop_level(), units == "avx512" ? Level::v4 : units == "avx2" ? Level::v3 : Level::baseline);
  }
}

}  // namespace
}  // namespace lehi::kernels
