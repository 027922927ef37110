// The words of both tokenizers, derived by hand from their regular expressions. reference_test.cpp compares whole
// tokenizers with the references.
#include "text/words.h"

#include <gmock/gmock.h>

#include "text/fixture.h"

namespace lehi::text {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> words(WordRule rule, const std::string& text) {
  std::vector<std::string> list;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(rule, text, begin);
    list.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return list;
}

TEST(Gpt2Words, BeginWithAtMostOneSpace) {
  EXPECT_THAT(words(WordRule::gpt2, "Hello world, 123!"), ElementsAre("Hello", " world", ",", " 123", "!"));
  EXPECT_THAT(words(WordRule::gpt2, "a   b  "), ElementsAre("a", "  ", " b", "  "));
  EXPECT_THAT(words(WordRule::gpt2, "a\n\nb\n c"), ElementsAre("a", "\n", "\n", "b", "\n", " c"));
  EXPECT_THAT(words(WordRule::gpt2, "漢字é\u0301 x\u0301"), ElementsAre("漢字é", "\u0301", " x", "\u0301"));
}

TEST(Gpt2Words, ContractionsAreLowerCase) {
  EXPECT_THAT(words(WordRule::gpt2, "can't we'll I'M it's''s 's"),
              ElementsAre("can", "'t", " we", "'ll", " I", "'", "M", " it", "'s", "''", "s", " '", "s"));
}

TEST(Llama3Words, BeginWithAtMostOneOtherCharacter) {
  EXPECT_THAT(words(WordRule::llama3, "Hello (world) 1234 x"),
              ElementsAre("Hello", " (", "world", ")", " ", "123", "4", " x"));
  EXPECT_THAT(words(WordRule::llama3, "\tx.y\u00a0z"), ElementsAre("\tx", ".y", "\u00a0z"));
  EXPECT_THAT(words(WordRule::llama3, "I'M 'Re 'ſ"), ElementsAre("I", "'M", " '", "Re", " '", "ſ"));
}

TEST(Llama3Words, LineEndsStayTogether) {
  EXPECT_THAT(words(WordRule::llama3, "a!\r\n\nb \n \n  c\n"),
              ElementsAre("a", "!\r\n\n", "b", " \n \n", " ", " c", "\n"));
  EXPECT_THAT(words(WordRule::llama3, "  \n  "), ElementsAre("  \n", "  "));
}

// JavaScript's \s has U+FEFF and not U+0085 or U+180E.
TEST(Words, SpacesAreThoseOfJavaScript) {
  EXPECT_THAT(words(WordRule::gpt2, "\ufeff\ufeffa"), ElementsAre("\ufeff", "\ufeff", "a"));
  EXPECT_THAT(words(WordRule::gpt2, "\u0085\u180e!"), ElementsAre("\u0085\u180e!"));
}

}  // namespace
}  // namespace lehi::text
