// The real tokenizers, compared with the reference packages, whose ids scripts/reference/tokenizers.js wrote.
#include <gmock/gmock.h>

#include "data/bytes.h"
#include "data/digest.h"
#include "text/encoder.h"
#include "text/fixture.h"

namespace lehi::text {
namespace {

const nlohmann::json& references() {
  static const auto document = [] {
    std::ifstream stream(LEHI_TEST_DATA "/tokenizers/references.json");
    return nlohmann::json::parse(stream);
  }();
  return document;
}

// {count, sha256} of ids as 32-bit little-endian words, as the script computes it.
nlohmann::json digest_of(const std::vector<TokenId>& ids) {
  std::string bytes;
  for (const TokenId id : ids) {
    for (const int shift : {0, 8, 16, 24}) bytes += static_cast<char>(id >> shift & 0xff);
  }
  return {{"count", ids.size()}, {"sha256", data::hex_digest("sha256", bytes)}};
}

class Reference : public ::testing::TestWithParam<TokenizerKind> {
 protected:
  void SetUp() override {
    if (!real_data(GetParam()).data_dir) GTEST_SKIP() << real_data(GetParam()).reason;
  }
  const Tokenizer& tokenizer() const { return real_tokenizer(GetParam()); }
  std::string name() const { return std::string(name_of(GetParam())); }
};

TEST_P(Reference, VocabularyHasItsPublishedSizeAndSpecials) {
  const auto& vocabulary = tokenizer().vocabulary();
  EXPECT_EQ(vocabulary.size(), vocabulary_size(GetParam()));
  if (GetParam() == TokenizerKind::gpt2) {
    EXPECT_EQ(vocabulary.size(), 50257U);
    EXPECT_EQ(tokenizer().document_start(), 50256U);
  } else {
    EXPECT_EQ(vocabulary.size(), 128256U);
    EXPECT_EQ(tokenizer().document_start(), 128000U);
    EXPECT_EQ(vocabulary.special("<|end_of_text|>"), 128001U);
    EXPECT_EQ(vocabulary.special("<|reserved_special_token_250|>"), 128255U);
  }
}

TEST_P(Reference, DifficultTextsHaveTheReferencesIds) {
  std::string all;
  for (const auto& entry : references()["cases"]) {
    const auto text = entry["text"].get<std::string>();
    const auto ids = tokenizer().encode(text);
    const auto& expected = entry[name()];
    EXPECT_EQ(expected.is_array() ? nlohmann::json(ids) : digest_of(ids), expected) << entry["name"];
    EXPECT_EQ(tokenizer().decode(ids), text) << entry["name"];
    all += (all.empty() && &entry == &references()["cases"].front() ? "" : "\n") + text;
  }
  EXPECT_EQ(all.size(), references()["torture"]["bytes"]);
  EXPECT_EQ(digest_of(tokenizer().encode(all)), references()["torture"][name()]);
}

// Every assigned code point in several contexts; of the private and unassigned planes, every 251st.
TEST_P(Reference, EveryCharacterHasTheReferencesClass) {
  const auto& sweep = references()["sweep"];
  const auto block = sweep["block"].get<char32_t>();
  Encoder encoder(tokenizer());
  for (std::size_t i = 0; i < sweep[name()].size(); ++i) {
    std::vector<TokenId> ids;
    for (char32_t code = static_cast<char32_t>(i) * block; code < (i + 1) * block; ++code) {
      const bool dense = (code < 0x33480 && (code < 0xd800 || code > 0xdfff)) || (code >= 0xe0000 && code < 0xe0200);
      if (!dense && (code <= 0xdfff || code % 251 != 0)) continue;
      std::string c;
      append_utf8(c, code);
      const std::string text = "a" + c + "b " + c + " " + c + c + "1" + c + "\n'" + c + "s  " + c + "\t" + c + "\n" + c;
      encoder.encode(text, Specials::reference, ids);
    }
    EXPECT_EQ(digest_of(ids), sweep[name()][i]) << "in the block from U+" << std::hex << i * block;
  }
}

TEST_P(Reference, RandomMixturesHaveTheReferencesIds) {
  const auto& mixtures = references()["mixtures"];
  const auto pieces = mixtures["pieces"].get<std::vector<std::string>>();
  ReferenceRandom random(12345);
  Encoder encoder(tokenizer());
  for (std::size_t group = 0; group < mixtures["groups"].get<std::size_t>(); ++group) {
    std::vector<TokenId> ids;
    for (std::size_t line = 0; line < mixtures["lines"].get<std::size_t>(); ++line) {
      std::string text;
      for (std::uint32_t n = 1 + random.below(24); n > 0; --n) {
        text += pieces[random.below(static_cast<std::uint32_t>(pieces.size()))];
      }
      encoder.encode(text, Specials::reference, ids);
    }
    EXPECT_EQ(digest_of(ids), mixtures[name()][group]) << "group " << group;
  }
}

TEST_P(Reference, SpeechesHaveTheReferencesIds) {
  const auto speeches = find_real_data("speeches");
  if (!speeches.data_dir) GTEST_SKIP() << speeches.reason;
  const std::string text = data::read_bytes(*speeches.data_dir / "speeches/speeches.txt");
  const auto ids = tokenizer().encode(text);
  EXPECT_EQ(digest_of(ids), references()["speeches"][name()]);
  EXPECT_TRUE(tokenizer().decode(ids) == text);
}

TEST_P(Reference, WordOfTenMegabytesDecodesToItself) {
  ReferenceRandom random(1);
  std::string word;
  while (word.size() < 10'000'000) word += static_cast<char>('a' + random.below(26));
  EXPECT_TRUE(tokenizer().decode(tokenizer().encode(word)) == word);
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Reference, ::testing::Values(TokenizerKind::gpt2, TokenizerKind::llama3),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace lehi::text
