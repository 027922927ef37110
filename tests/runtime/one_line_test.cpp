// Any string as one safe line.
#include "runtime/one_line.h"

#include <gtest/gtest.h>

#include "runtime/message.h"

namespace lehi {
namespace {

TEST(OneLine, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(one_line("a.csv, line 3: 'Z\xc3\xbcrich' \xe4\xb8\xad \xf0\x9f\x98\x80"),
            "a.csv, line 3: 'Z\xc3\xbcrich' \xe4\xb8\xad \xf0\x9f\x98\x80");
  EXPECT_EQ(one_line(""), "");
}

TEST(OneLine, EscapesControlCharacters) {
  EXPECT_EQ(one_line("a\nb\r\tc\x1b[31m\x7f"), "a\\nb\\r\\tc\\x1b[31m\\x7f");
  EXPECT_EQ(one_line("\xc2\x9b"), "\\u009b");  // C1 control: starts an escape sequence
  EXPECT_EQ(one_line("a\xe2\x80\xae"
                     "b"),
            "a\\u202e"
            "b");  // right to left from here on
  EXPECT_EQ(one_line(std::string("a\0b", 3)),
            "a\\x00"
            "b");
}

TEST(OneLine, ReplacesInvalidUtf8) {
  EXPECT_EQ(one_line("a\xff"), "a\xef\xbf\xbd");
  EXPECT_EQ(one_line("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(one_line("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");                  // an overlong slash
  EXPECT_EQ(one_line("\xe4\xb8"), "\xef\xbf\xbd\xef\xbf\xbd");                  // cut
}

TEST(OneLine, KeepsBothEndsOfALongText) {
  for (const std::size_t size : {std::size_t{4001}, std::size_t{7000}, std::size_t{9000}, std::size_t{10'000'000}}) {
    std::string text = "begin";
    while (text.size() < size) text += "\xc3\xa4";
    const auto line = one_line(text + "end");
    EXPECT_LE(line.size(), longest_line);
    EXPECT_TRUE(line.starts_with("begin") && line.ends_with("end"));
    EXPECT_NE(line.find(" ... "), std::string::npos);
    EXPECT_EQ(one_line(line), line);  // no character was cut in two
  }
}

TEST(OneLine, IsAppliedToEveryErrorMessage) {
  try {
    throw_invalid_argument("'{}' is unknown", "a\nb");
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "'a\\nb' is unknown");
  }
}

}  // namespace
}  // namespace lehi
