#include "train/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "files/files.h"
#include "support/support.h"

namespace lehi::train {
namespace {

using lehi::testing::message_of;
using nlohmann::json;
using ::testing::HasSubstr;

TEST(ParseJson, InvalidJsonThrowsWithItsPosition) {
  EXPECT_EQ(message_of([] { parse_json(R"({"a": 1,})", "run.json"); }), "run.json is not valid JSON at byte 9 of 9");
  for (const char* text : {"", "{", "[1, 2", "nul", "{\"a\" 1}", "{} {}", "\"\xff\"", "[1e999]", "NaN"}) {
    EXPECT_THROW(parse_json(text, "run.json"), FileError) << text;
  }
}

TEST(ParseJson, KeysMayNotRepeatWithinOneObject) {
  EXPECT_EQ(parse_json(R"([{"a": {"a": 1}, "b": 2}, {"a": 3}])", "x").dump(), R"([{"a":{"a":1},"b":2},{"a":3}])");
  EXPECT_EQ(message_of([] { parse_json(R"({"a": {"b": 1, "c": [], "b": 2}})", "x"); }), "x repeats the key \"b\"");
}

TEST(ParseJson, LimitsAreCheckedWhileParsing) {
  const JsonLimits limits{.depth = 3, .list_size = 4};
  EXPECT_EQ(parse_json("[[[1,2,3,4]]]", "x", limits).dump(), "[[[1,2,3,4]]]");
  EXPECT_EQ(message_of([&] { parse_json("[[[[]]]]", "x", limits); }), "x nests deeper than 3 levels");
  EXPECT_EQ(message_of([&] { parse_json("[1,2,3,4,5]", "x", limits); }), "x holds a list of more than 4 values");
  EXPECT_EQ(message_of([&] { parse_json("[[],[],{},[],[]]", "x", limits); }), "x holds a list of more than 4 values");
  // Ten million levels would need gigabytes; the parser stops at the 33rd.
  EXPECT_EQ(message_of([] { parse_json(std::string(10'000'000, '['), "x"); }), "x nests deeper than 32 levels");
}

TEST(Fields, NameTheFileAndTheKey) {
  const auto document = parse_json(R"({"n": -1, "t": 5, "big": 9223372036854775808, "half": 0.5})", "x");
  EXPECT_EQ(message_of([&] { text_field(document, "none", "x"); }), "x: the key 'none' is missing");
  EXPECT_EQ(message_of([&] { text_field(document, "t", "x"); }), "x: 't' is 5, expected a string");
  EXPECT_EQ(message_of([&] { count_field(document, "n", "x"); }), "x: 'n' is -1, expected an integer of at least 0");
  EXPECT_THROW(count_field(document, "big", "x"), FileError);
  EXPECT_THROW(count_field(document, "half", "x"), FileError);
  EXPECT_THROW(field(json::array(), "n", "x"), FileError);
  EXPECT_EQ(count_field(json{{"n", 7}}, "n", "x"), 7);
  EXPECT_EQ(number_field(document, "half", "x"), 0.5);
}

TEST(Fields, LongStringsAreCutOffInMessages) {
  const json document = {{"t", 1}, {"long", std::string(1'000'000, 'a')}};
  EXPECT_LT(message_of([&] { number_field(document, "long", "x"); }).size(), 120u);
  EXPECT_EQ(in_quotes("a\x1b[0m\n"), R"("a\u001b[0m\n")");
}

TEST(ToText, AcceptsAnyBytesAndNumbers) {
  EXPECT_EQ(to_text(json("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(to_text(json(std::numeric_limits<double>::quiet_NaN())), "null");
  const double tenth = 0.1;
  EXPECT_EQ(parse_json(to_text(json(tenth)), "x").get<double>(), tenth);
}

}  // namespace
}  // namespace lehi::train
