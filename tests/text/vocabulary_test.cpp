// Vocabularies and their files: valid ones, and the messages for everything else.
#include "text/vocabulary.h"

#include <gmock/gmock.h>

#include "text/fixture.h"
#include "text/vocabulary_files.h"

namespace lehi::text {
namespace {

using ::testing::HasSubstr;

std::string vocabulary_error(const VocabularyParts& parts) {
  return message_of([&] { Vocabulary(parts, "V"); });
}

TEST(Vocabulary, FindsTokensMergesAndSpecials) {
  const Vocabulary vocabulary(small_parts({{"a", "b"}, {"ab", "c"}}, {"<|x|>", "<|x|>y", "<|zz|>"}), "V");
  EXPECT_EQ(vocabulary.size(), 261U);
  EXPECT_EQ(vocabulary.bytes(257), "abc");
  EXPECT_EQ(vocabulary.bytes(260), "<|zz|>");
  EXPECT_EQ(vocabulary.find("ab"), 256U);
  EXPECT_EQ(vocabulary.find("ac"), std::nullopt);
  EXPECT_EQ(vocabulary.find("<|x|>"), std::nullopt);  // special, not ordinary
  EXPECT_EQ(vocabulary.merge('a', 'b')->id, 256U);
  EXPECT_EQ(vocabulary.merge(256, 'c')->rank, 1U);
  EXPECT_EQ(vocabulary.merge('b', 'a'), nullptr);
  EXPECT_EQ(vocabulary.special("<|zz|>"), 260U);
  EXPECT_EQ(vocabulary.special("<|z|>"), std::nullopt);
  const auto first = vocabulary.find_special("..<|x|<|x|>y<|zz|>", 0);  // the longest at the first position
  ASSERT_TRUE(first);
  EXPECT_EQ(first->begin, 6U);
  EXPECT_EQ(first->end, 12U);
  EXPECT_EQ(first->id, 259U);
  EXPECT_FALSE(vocabulary.find_special("<|x|", 0));
  EXPECT_FALSE(Vocabulary(small_parts({}, {}), "V").find_special("<|x|>", 0));
}

TEST(Vocabulary, ThrowsWhenInconsistent) {
  const auto good = small_parts({{"a", "b"}});
  EXPECT_EQ(vocabulary_error(good), "");
  auto parts = good;
  parts.tokens.back().second = 255;
  EXPECT_THAT(vocabulary_error(parts), HasSubstr("V gives id 255 to two tokens; one of them is 'ab'"));
  parts = good;
  parts.tokens.back().second = std::uint64_t{1} << 60;
  EXPECT_THAT(vocabulary_error(parts), HasSubstr("gives id 1152921504606846976 to token 'ab'; with 259 tokens"));
  parts = good;
  parts.tokens.back().first = "a";
  EXPECT_THAT(vocabulary_error(parts), HasSubstr("the token 'a' twice"));
  parts = good;
  parts.tokens.back().first = "";
  EXPECT_THAT(vocabulary_error(parts), HasSubstr("an empty token"));
  parts = good;
  parts.tokens[10].first = "zz";
  EXPECT_THAT(vocabulary_error(parts), HasSubstr("no token for the byte 0x0a"));
  parts = good;
  parts.merges.emplace_back("b", "a");
  EXPECT_THAT(vocabulary_error(parts), HasSubstr("merge 2 of V, 'b' and 'a', needs the token 'ba'"));
  parts = good;
  parts.merges.emplace_back("a", "b");
  EXPECT_THAT(vocabulary_error(parts), HasSubstr("merge 2 of V, 'a' and 'b', occurs twice"));
  parts = good;
  parts.specials[1].first = parts.specials[0].first;
  EXPECT_THAT(vocabulary_error(parts), HasSubstr("the special token '<|endoftext|>' twice"));
  EXPECT_THAT(vocabulary_error({}), HasSubstr("no token for the byte 0x00"));
}

TEST(Gpt2Files, AreRead) {
  const auto parts = small_parts({{"a", "b"}, {" ", "ab"}}, {"<|endoftext|>"});
  const auto files = gpt2_files(parts);
  const auto read = read_gpt2(files.encoder_json, files.vocab_bpe, "F");
  EXPECT_EQ(read.tokens, parts.tokens);
  EXPECT_EQ(read.merges, parts.merges);
  EXPECT_EQ(read.specials, parts.specials);
}

TEST(Gpt2Files, DamageThrows) {
  const auto files = gpt2_files(small_parts({{"a", "b"}}, {"<|endoftext|>"}));
  const auto json = [&](const std::string& encoder) {
    return message_of([&] { Vocabulary(read_gpt2(encoder, files.vocab_bpe, "F"), "F"); });
  };
  const auto merges = [&](const std::string& vocab) {
    return message_of([&] { Vocabulary(read_gpt2(files.encoder_json, vocab, "F"), "F"); });
  };
  EXPECT_EQ(json(files.encoder_json), "");
  EXPECT_THAT(json(""), HasSubstr("F is not valid JSON at byte"));
  EXPECT_THAT(json(files.encoder_json.substr(0, 1000)), HasSubstr("F is not valid JSON at byte"));
  EXPECT_THAT(json("\xff"), HasSubstr("F is not UTF-8"));
  EXPECT_THAT(json("[]"), HasSubstr("no token <|endoftext|>"));
  EXPECT_THAT(json(R"({"a": -1})"), HasSubstr("gives the token 'a' the id -1"));
  EXPECT_THAT(json(R"({"a": 1.5})"), HasSubstr("the id 1.5"));
  EXPECT_THAT(json(R"({"a": 99999999999999999999999})"), HasSubstr("the id 9"));
  EXPECT_THAT(json(R"({"a": "0"})"), HasSubstr("the id 0; expected an integer"));
  EXPECT_THAT(json(R"({"a": {"b": 0}})"), HasSubstr("a list or an object in its vocabulary"));
  EXPECT_THAT(json(R"({"漢": 0})"), HasSubstr("a character represents no byte"));
  EXPECT_THAT(json(R"({"\ud800": 0})"), HasSubstr("F is not valid JSON"));
  EXPECT_THAT(json(std::string(1 << 20, '[')), HasSubstr("more than 32 nested levels"));
  EXPECT_THAT(json(R"({"a": 0, "a": 1, "<|endoftext|>": 2})"), HasSubstr("the token 'a' twice"));
  EXPECT_THAT(merges(""), "");  // a vocabulary without merges is valid
  EXPECT_THAT(merges("a b\n"), HasSubstr("does not begin with '#version'"));
  for (const char* line : {"a", "a b c", "a ", " b", "a  b", ""}) {
    EXPECT_THAT(merges("#version: 0.2\n" + std::string(line) + "\n"),
                HasSubstr("expected two tokens separated by a space"));
  }
  EXPECT_THAT(merges("#version: 0.2\na c\n"), HasSubstr("needs the token 'ac'"));
}

nlohmann::ordered_json llama3_document() {
  const auto parts = small_parts({{"a", "b"}}, {});
  nlohmann::ordered_json vocabulary;
  for (const auto& [bytes, id] : parts.tokens) vocabulary[letters_of_bytes(bytes)] = id;
  return {
      {"added_tokens", {{{"id", 257}, {"content", "<|begin_of_text|>"}, {"lstrip", false}, {"special", true}}}},
      {"normalizer", nullptr},
      {"pre_tokenizer",
       {{"type", "Sequence"},
        {"pretokenizers",
         {{{"type", "Split"}, {"pattern", {{"Regex", llama3_pattern}}}, {"behavior", "Isolated"}, {"invert", false}},
          {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}}},
      {"model", {{"type", "BPE"}, {"ignore_merges", true}, {"vocab", vocabulary}, {"merges", {"a b"}}}}};
}

TEST(Llama3File, IsReadAndOtherSettingsThrow) {
  const auto good = llama3_document();
  const auto parts = read_llama3(good.dump(), "F");
  EXPECT_EQ(parts.tokens.size(), 257U);
  EXPECT_EQ(parts.merges, (std::vector<std::pair<std::string, std::string>>{{"a", "b"}}));
  ASSERT_EQ(parts.specials.size(), 1U);
  EXPECT_EQ(parts.specials[0].second, 257U);

  const auto changed = [&good](const char* pointer, const nlohmann::ordered_json& value) {
    auto document = good;
    document[nlohmann::ordered_json::json_pointer(pointer)] = value;
    return message_of([&] { Vocabulary(read_llama3(document.dump(), "F"), "F"); });
  };
  EXPECT_EQ(changed("/model/type", "BPE"), "");
  EXPECT_THAT(changed("/model/type", "Unigram"),
              HasSubstr("F: model.type is 'Unigram', but this program supports only 'BPE'"));
  EXPECT_THAT(changed("/model/ignore_merges", false), HasSubstr("model.ignore_merges"));
  EXPECT_THAT(changed("/model/merges", {1}), HasSubstr("a merge that is not a string"));
  EXPECT_THAT(changed("/model/merges", nlohmann::ordered_json::array({{"a", {"b"}}})),
              HasSubstr("a list or an object in its vocabulary or merges"));
  EXPECT_THAT(changed("/model/merges", nullptr), HasSubstr("F has no list model.merges"));
  EXPECT_THAT(changed("/model/vocab/a", 258), HasSubstr("gives id 258"));
  EXPECT_THAT(changed("/normalizer", {{"type", "NFC"}}), HasSubstr("normalizer"));
  EXPECT_THAT(changed("/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\s"), HasSubstr("pattern.Regex is '\\s'"));
  EXPECT_THAT(changed("/added_tokens/0/lstrip", true), HasSubstr("added_tokens[0].lstrip is 'true'"));
  EXPECT_THAT(changed("/added_tokens/0/id", 3), HasSubstr("gives id 3 to two tokens"));
  EXPECT_THAT(changed("/added_tokens/0/id", "x"), HasSubstr("the id 'x'; expected a number"));
  EXPECT_THAT(changed("/added_tokens/0", {{"id", 257}}), HasSubstr("added_tokens[0] has no id or no content"));
  const std::string text = good.dump();
  EXPECT_THAT(message_of([&] { read_llama3(text.substr(0, text.size() / 2), "F"); }),
              HasSubstr("not valid JSON at byte"));
  const std::string twice = R"({"a": 1, "a": 2})";
  EXPECT_THAT(message_of([&] { read_llama3(twice, "F"); }), HasSubstr("F has 'a' twice"));
}

}  // namespace
}  // namespace lehi::text
