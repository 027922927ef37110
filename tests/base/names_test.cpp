#include "base/names.h"

#include <gtest/gtest.h>

namespace lehi::base {
namespace {

TEST(Names, SafeNamesCannotLeaveTheirDirectory) {
  for (const auto* name : {"a", "mnist-lehi-lr1e-05-seed0", "x+y_z.w"}) EXPECT_TRUE(is_safe_name(name)) << name;
  for (const auto* name : {"", ".", "..", ".hidden", "-rf", "a/b", "/etc", "a b", "<b>", "a\n", "\xc3\xa4"}) {
    EXPECT_FALSE(is_safe_name(name)) << name;
  }
  EXPECT_FALSE(is_safe_name(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_safe_name(std::string(255, 'a')));
  EXPECT_FALSE(is_safe_name(std::string(256, 'a')));
}

TEST(Names, AnyStringBecomesASafeName) {
  EXPECT_EQ(safe_name("lehi-gn[mix=max,eps=1e-3]"), "lehi-gn_mix_max_eps_1e-3");
  EXPECT_EQ(safe_name("../../etc/passwd"), "etc_passwd");
  EXPECT_EQ(safe_name("-rf ."), "rf");
  EXPECT_EQ(safe_name("\xc3\xa4\n"), "x");
  EXPECT_EQ(safe_name(std::string(500, 'a')).size(), 100U);
}

TEST(Names, TasksOfFilesAreNamedAfterTheFile) {
  EXPECT_EQ(short_task("csv:/data/my houses.csv"), "csv-my_houses");
  EXPECT_EQ(short_task("mnist"), "mnist");
}

}  // namespace
}  // namespace lehi::base
