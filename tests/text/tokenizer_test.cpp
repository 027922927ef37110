// Tokenizers with a vocabulary that is checked by hand. reference_test.cpp compares the real ones with the references.
#include "text/tokenizer.h"

#include <gmock/gmock.h>

#include <random>

#include "text/encoder.h"
#include "text/fixture.h"
#include "text/merger.h"

namespace lehi::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 256 lo, 257 low, 258 er, 259 " low", 260 "aa", 261 "aaa"
const std::vector<std::pair<std::string, std::string>> small_merges = {{"l", "o"},   {"lo", "w"}, {"e", "r"},
                                                                       {" ", "low"}, {"a", "a"},  {"aa", "a"}};

TEST(Bpe, MergesInOrderByHand) {
  const auto tokenizer = small_tokenizer(TokenizerKind::gpt2, small_parts(small_merges));
  EXPECT_THAT(tokenizer.encode("low lower"), ElementsAre(257, 259, 258));
  EXPECT_THAT(tokenizer.encode("slower"), ElementsAre('s', 257, 258));
  EXPECT_THAT(tokenizer.encode("aaaaa"),
              ElementsAre(260, 261));  // aa aa a, then aa aaa: the lowest rank first, the leftmost of equals
  EXPECT_THAT(tokenizer.encode("ol"), ElementsAre('o', 'l'));
  EXPECT_THAT(tokenizer.encode("é"), ElementsAre(0xc3, 0xa9));
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_THAT(tokenizer.encode("x"), ElementsAre('x'));
}

// Several merges make the same token, as in Llama-3's file. The lowest rank is merged first, not the leftmost pair.
TEST(Bpe, LowerRankWinsOverLeftmost) {
  const auto tokenizer =
      small_tokenizer(TokenizerKind::gpt2, small_parts({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"ab", "c"}, {"c", "d"}}));
  EXPECT_THAT(tokenizer.encode("abcd"), ElementsAre(258, 'd'));
  EXPECT_THAT(tokenizer.encode("abd"), ElementsAre(257, 'd'));
}

TEST(Bpe, Llama3TakesWholeWordsBeforeMerges) {
  auto parts = small_parts({{"l", "o"}}, {"<|begin_of_text|>"});
  parts.tokens.emplace_back("xyz", 258);  // a token that no merge produces
  EXPECT_THAT(small_tokenizer(TokenizerKind::llama3, parts).encode("xyz lo"), ElementsAre(258, ' ', 256));
  EXPECT_THAT(small_tokenizer(TokenizerKind::gpt2, parts).encode("xyz lo"), ElementsAre('x', 'y', 'z', ' ', 256));
}

// The algorithm in its simplest form, the reference for the two fast versions.
std::vector<TokenId> merge_plainly(const Vocabulary& vocabulary, const std::string& word) {
  std::vector<TokenId> tokens;
  for (const char c : word) tokens.push_back(vocabulary.byte(static_cast<unsigned char>(c)));
  for (;;) {
    const Merge* best = nullptr;
    std::size_t place = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const Merge* merge = vocabulary.merge(tokens[i], tokens[i + 1]);
      if (merge != nullptr && (best == nullptr || merge->rank < best->rank)) {
        best = merge;
        place = i;
      }
    }
    if (best == nullptr) return tokens;
    tokens[place] = best->id;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  }
}

// A vocabulary of all strings of the letters a and b up to length 5, with a random subset of the merges that produce
// them, in random order. Unlike in trained vocabularies, merges can precede those of their parts, so every case occurs.
TEST(Bpe, ShortAndLongWordsMergeLikeTheReference) {
  std::mt19937 random(7);
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<std::string> strings{"a", "b"};
  for (std::size_t i = 0; i < strings.size(); ++i) {
    for (const char c : {'a', 'b'}) {
      if (strings[i].size() < 5) strings.push_back(strings[i] + c);
    }
  }
  for (const auto& string : strings) {
    for (std::size_t cut = 1; cut < string.size(); ++cut) {
      if (random() % 3 == 0) merges.emplace_back(string.substr(0, cut), string.substr(cut));
    }
  }
  std::shuffle(merges.begin(), merges.end(), random);
  auto parts = small_parts({}, {});
  for (const auto& string : strings) {
    if (string.size() > 1) parts.tokens.emplace_back(string, parts.tokens.size());
  }
  parts.merges = merges;
  const Vocabulary vocabulary(parts, "V");
  Merger merger(vocabulary);
  for (int i = 0; i < 3000; ++i) {
    std::string word;
    for (std::size_t n = 1 + random() % 120; n > 0; --n) word += random() % 2 == 0 ? 'a' : 'b';
    std::vector<TokenId> ids;
    merger.merge(word, ids);
    ASSERT_EQ(ids, merge_plainly(vocabulary, word)) << word;
  }
}

TEST(Specials, AreTextOrTokensAsRequested) {
  const auto gpt2 = small_tokenizer(TokenizerKind::gpt2, small_parts({}, {"<|e|>"}));
  const auto llama3 = small_tokenizer(TokenizerKind::llama3, small_parts({}, {"<|e|>"}));
  const auto as_text = ElementsAre('a', '<', '|', 'e', '|', '>', 'b');
  const auto as_tokens = ElementsAre('a', 256, 'b');
  EXPECT_THAT(gpt2.encode("a<|e|>b"), as_text);
  EXPECT_THAT(llama3.encode("a<|e|>b"), as_tokens);
  EXPECT_THAT(gpt2.encode("a<|e|>b", Specials::as_tokens), as_tokens);
  EXPECT_THAT(llama3.encode("a<|e|>b", Specials::as_text), as_text);
  EXPECT_THAT(llama3.encode("<|e|><|e|>"), ElementsAre(256, 256));
  EXPECT_EQ(llama3.decode(std::vector<TokenId>{256, 'x'}), "<|e|>x");
  EXPECT_THAT(message_of([&] { gpt2.document_start(); }), HasSubstr("no special token <|endoftext|>"));
  EXPECT_EQ(small_tokenizer(TokenizerKind::gpt2, small_parts({})).document_start(), 256U);
  EXPECT_EQ(small_tokenizer(TokenizerKind::llama3, small_parts({})).document_start(), 257U);
}

// Spaces before a special token are at the end of the text before it.
TEST(Specials, EndTheTextBeforeThem) {
  const auto llama3 = small_tokenizer(TokenizerKind::llama3, small_parts({{" ", " "}}, {"<|e|>"}));
  EXPECT_THAT(llama3.encode("  <|e|>"), ElementsAre(256, 257));
  EXPECT_THAT(llama3.encode("  <|e|>", Specials::as_text), ElementsAre(' ', ' ', '<', '|', 'e', '|', '>'));
}

TEST(Tokenizer, ThrowsForInvalidInput) {
  const auto tokenizer = small_tokenizer(TokenizerKind::gpt2, small_parts({}));
  EXPECT_THAT(message_of([&] { tokenizer.encode("abc\xed\xa0\x80"); }),
              HasSubstr("the text is not UTF-8: no valid character starts with the byte 0xed at offset 3"));
  EXPECT_THAT(message_of([&] {
                tokenizer.decode(std::vector<TokenId>{1, 258});
              }),
              HasSubstr("id 258 at position 1 is not in the vocabulary of gpt2, whose ids are 0 to 257"));
  EXPECT_THAT(message_of([] { tokenizer_named("gpt3"); }),
              HasSubstr("unknown tokenizer 'gpt3': expected one of gpt2, llama3, bytes"));
}

TEST(ByteTokens, AreTheirOwnTokensAndNeedNoFiles) {
  const auto tokenizer = Tokenizer::load(TokenizerKind::bytes, "/no/such/folder");
  EXPECT_THAT(tokenizer.encode("lo é\n"), ElementsAre('l', 'o', ' ', 0xc3, 0xa9, '\n'));
  EXPECT_EQ(tokenizer.encode("<|endoftext|>", Specials::as_tokens).size(), 13U);  // no special tokens
  EXPECT_THAT(tokenizer.encode(""), IsEmpty());
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{0xff, 0, 'a'}), std::string("\xff\0a", 3));
  EXPECT_EQ(tokenizer.document_start(), 0xffU);
  EXPECT_EQ(tokenizer.vocabulary().size(), vocabulary_size(TokenizerKind::bytes));
  EXPECT_THAT(message_of([&] { tokenizer.encode("ab\xff"); }), HasSubstr("0xff at offset 2"));
  EXPECT_THAT(message_of([&] { tokenizer.decode(std::vector<TokenId>{256}); }),
              HasSubstr("id 256 at position 0 is not in the vocabulary of bytes, whose ids are 0 to 255"));
}

TEST(Tokenizer, MissingFilesThrowWithPlaceAndAdvice) {
  const testing::Folder folder;
  EXPECT_THAT(message_of([&] { Tokenizer::load(TokenizerKind::gpt2, folder.string()); }),
              ::testing::AllOf(HasSubstr("encoder.json, vocab.bpe"), HasSubstr(folder.string() + "/gpt2"),
                               HasSubstr("lehi data get gpt2")));
}

std::string random_text(std::mt19937& random, int characters) {
  std::string text;
  for (int i = 0; i < characters; ++i) {
    const std::uint32_t most[] = {0x80, 0x80, 0x800, 0x10000, 0x110000};
    auto code = static_cast<char32_t>(random() % most[random() % 5]);
    if (code >= 0xd800 && code <= 0xdfff) code = ' ';
    append_utf8(text, code);
  }
  return text;
}

TEST(Tokenizer, DecodesToWhatWasEncoded) {
  std::mt19937 random(1);
  for (const auto kind : {TokenizerKind::gpt2, TokenizerKind::llama3, TokenizerKind::bytes}) {
    const auto tokenizer = small_tokenizer(kind, small_parts(small_merges));
    for (int i = 0; i < 500; ++i) {
      const std::string text = random_text(random, i);
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    }
  }
}

// The cache of words overwrites entries: the results must be those without a cache.
TEST(Encoder, CachedWordsHaveTheRightTokens) {
  const auto tokenizer = small_tokenizer(TokenizerKind::gpt2, small_parts(small_merges));
  std::mt19937 random(3);
  Encoder encoder(tokenizer);
  for (int i = 0; i < 200'000; ++i) {
    std::string word = " ";
    for (std::size_t n = random() % 8; n > 0; --n) word += "lowera"[random() % 6];
    std::vector<TokenId> ids;
    encoder.encode(word, Specials::as_text, ids);
    std::vector<TokenId> fresh;
    Merger(tokenizer.vocabulary()).merge(word, fresh);
    ASSERT_EQ(ids, fresh) << word;
  }
}

TEST(Bpe, WordOfTenMegabytesIsEncodedAndDecodesToItself) {
  const auto tokenizer = small_tokenizer(TokenizerKind::gpt2, small_parts(small_merges));
  std::string word;
  std::mt19937 random(5);
  while (word.size() < 10'000'000) word += "lowera"[random() % 6];
  const auto ids = tokenizer.encode(word);
  EXPECT_LT(ids.size(), word.size());
  EXPECT_TRUE(tokenizer.decode(ids) == word);
  EXPECT_EQ(tokenizer.encode(std::string(9'000'000, 'a')).size(),
            4'500'000U);  // all aa: there is no merge of aa and aa
}

}  // namespace
}  // namespace lehi::text
