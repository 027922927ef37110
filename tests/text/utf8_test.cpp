#include "text/utf8.h"

#include <gmock/gmock.h>

#include "text/byte_letters.h"
#include "text/fixture.h"

namespace lehi::text {
namespace {

using ::testing::HasSubstr;

TEST(Utf8, EveryCharacterIsValidAndDecoded) {
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    std::string text;
    append_utf8(text, code);
    ASSERT_EQ(first_invalid_utf8(text), std::string::npos) << std::hex << static_cast<unsigned>(code);
    const auto character = character_at(text, 0);
    ASSERT_EQ(character.code, code);
    ASSERT_EQ(character.length, text.size());
  }
}

// Sequences that are not in table 3-7 of the Unicode standard, each after valid texts of several lengths.
TEST(Utf8, InvalidBytesAreFoundAtTheirOffset) {
  const std::vector<std::string> wrong = {
      "\x80",              // a continuation alone
      "\xbf",              //
      "\xc0\xaf",          // overlong /
      "\xc1\xbf",          //
      "\xe0\x80\xaf",      //
      "\xe0\x9f\xbf",      //
      "\xf0\x80\x80\xaf",  //
      "\xf0\x8f\xbf\xbf",  //
      "\xed\xa0\x80",      // the first surrogate
      "\xed\xbf\xbf",      // the last
      "\xf4\x90\x80\x80",  // U+110000
      "\xf5\x80\x80\x80",  //
      "\xf8\x88\x80\x80\x80",
      "\xfe",
      "\xff",
      "\xc3",  // truncated at the end of the text
      "\xe2\x82",
      "\xf0\x9f\x98",
      "\xc3(",  // truncated by the next character
      "\xe2\x82(",
      "\xf0\x9f\x98(",
  };
  for (const std::string& before :
       {std::string(), std::string("a"), std::string("0123456789abcdef"), std::string("é😀漢")}) {
    for (const std::string& bytes : wrong) {
      EXPECT_EQ(first_invalid_utf8(before + bytes), before.size()) << before << " then " << letters_of_bytes(bytes);
      EXPECT_EQ(first_invalid_utf8(before + bytes + "(more text after"), before.size());
    }
    EXPECT_EQ(first_invalid_utf8(before), std::string::npos);
  }
  EXPECT_THAT(message_of([] { require_utf8("ab\xff", "the text", 100); }),
              HasSubstr("the text is not UTF-8: no valid character starts with the byte 0xff at offset 102"));
}

TEST(ByteLetters, EveryByteHasItsOwnLetter) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  EXPECT_EQ(bytes_of_letters(letters_of_bytes(bytes)), bytes);
  EXPECT_EQ(letters_of_bytes(" \n\x7f\xad!~"), "ĠĊġŃ!~");  // as in GPT-2's vocabulary
  EXPECT_EQ(bytes_of_letters("a b"), std::nullopt);        // a space represents no byte
  EXPECT_EQ(bytes_of_letters("漢"), std::nullopt);
  EXPECT_EQ(bytes_of_letters("\u0144"), std::nullopt);  // one after the last
}

}  // namespace
}  // namespace lehi::text
