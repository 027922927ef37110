#include "base/lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/support.h"

namespace lehi::base {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;

TEST(Lists, AreSplitAtCommasOutsideBrackets) {
  EXPECT_THAT(split_list("--optimizers", "a,b[c=1,d=2],e"), ElementsAre("a", "b[c=1,d=2]", "e"));
  EXPECT_THAT(testing::message_of([] { split_list("--optimizers", "a,,b"); }),
              AllOf(::testing::HasSubstr("--optimizers"), ::testing::HasSubstr("empty name")));
  EXPECT_THAT(testing::message_of([] { split_list("--optimizers", ""); }), ::testing::HasSubstr("empty name"));
  EXPECT_THAT(testing::message_of([] { split_list("--optimizers", "a[b=1"); }),
              ::testing::HasSubstr("unmatched bracket"));
}

}  // namespace
}  // namespace lehi::base
