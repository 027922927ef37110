#include "base/duration.h"

#include <gtest/gtest.h>

namespace lehi::base {
namespace {

TEST(Duration, HasTheUnitsThatFitItsLength) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(125.0), "2 min 05 s");
  EXPECT_EQ(duration_text(3720.0), "1 h 02 min");
  EXPECT_EQ(duration_text(-1.0), "0 s");
}

}  // namespace
}  // namespace lehi::base
