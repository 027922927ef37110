// `lehi tokenize`: its output and exit codes, with a small vocabulary.
#include <gmock/gmock.h>

#include "cli/run.h"
#include "cli/tokenize.h"
#include "text/fixture.h"
#include "text/token_data.h"

namespace lehi::cli {
namespace {

using lehi::testing::Folder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Tokenize : public ::testing::Test {
 protected:
  Tokenize() {
    const auto files = text::gpt2_files(text::small_parts({{"l", "o"}, {"lo", "w"}, {" ", "low"}}, {"<|endoftext|>"}));
    folder_.write("data/gpt2/encoder.json", files.encoder_json);
    folder_.write("data/gpt2/vocab.bpe", files.vocab_bpe);
  }
  Result lehi(const std::string& bytes, Arguments arguments) const {
    arguments.insert(arguments.begin(), {"tokenize", "--tokenizer", "gpt2", "--data-dir", data_dir(), file(bytes)});
    return run(arguments);
  }
  std::string file(const std::string& bytes) const { return folder_.write("f", bytes).string(); }
  std::string data_dir() const { return folder_.string() + "/data"; }

  Folder folder_;
};

TEST_F(Tokenize, PrintsTokensWithTheirIds) {
  const auto result = lehi("low low\n\"\\é", {});
  EXPECT_EQ(result.code, done) << result.err;
  EXPECT_EQ(result.out,
            "   257  \"low\"\n   258  \" low\"\n    10  \"\\n\"\n    34  \"\\\"\"\n    92  \"\\\\\"\n"
            "   195  \"\\xc3\"\n   169  \"\\xa9\"\n");
  EXPECT_EQ(result.err, "lehi: 7 tokens, 12 bytes\n");
}

TEST_F(Tokenize, JsonHasTheIds) {
  EXPECT_EQ(lehi("low low", {"--json"}).out, "{\"schema\":1,\"tokenizer\":\"gpt2\",\"ids\":[257,258]}\n");
  EXPECT_EQ(lehi("", {"--json"}).json()["ids"].size(), 0U);
  EXPECT_EQ(lehi("low low", {"--count"}).out, "2\n");
  const auto count = lehi("low low", {"--count", "--json"}).json();
  EXPECT_EQ(count["count"], 2);
  EXPECT_EQ(count["bytes"], 7);
}

TEST_F(Tokenize, SpecialsAreTextUnlessAsked) {
  EXPECT_EQ(lehi("<|endoftext|>", {"--count"}).out, "13\n");
  EXPECT_EQ(lehi("<|endoftext|>", {"--specials", "tokens", "--json"}).json()["ids"][0], 259);
}

TEST_F(Tokenize, DecodesNumbersAndItsOwnJson) {
  EXPECT_EQ(lehi("257 258,[10]\n", {"--decode"}).out, "low low\n");
  EXPECT_EQ(lehi(lehi("low é low", {"--json"}).out, {"--decode"}).out, "low é low");
  EXPECT_EQ(lehi("257 195", {"--decode", "--json"}).json()["text"], "low\ufffd");  // half a character
  EXPECT_EQ(lehi("", {"--decode"}).out, "");
  EXPECT_THAT(lehi("257 x", {"--decode"}).err, HasSubstr("has no token id at byte 4"));
  EXPECT_THAT(lehi("-1", {"--decode"}).err, HasSubstr("has no token id at byte 0"));
  EXPECT_THAT(lehi("{\"id\": []}", {"--decode"}).err, HasSubstr("is not a JSON document with a list of ids"));
  EXPECT_THAT(lehi("{\"ids\": [1,", {"--decode"}).err, HasSubstr("is not a JSON document with a list of ids"));
  EXPECT_THAT(lehi("{\"ids\": [1.5]}", {"--decode"}).err, HasSubstr("no token id at byte"));
  EXPECT_THAT(lehi("99999999999", {"--decode"}).err, HasSubstr("no token id"));
  EXPECT_THAT(lehi("260", {"--decode"}).err, HasSubstr("id 260 at position 0 is not in the vocabulary"));
}

TEST_F(Tokenize, BytesNeedNoVocabulary) {
  const Arguments bytes{"tokenize", "--tokenizer", "bytes", "--data-dir", "/no/such/folder"};
  const auto with = [&](const std::string& input, const Arguments& more) {
    Arguments arguments = bytes;
    arguments.push_back(file(input));
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  EXPECT_EQ(with("aé", {}).out, "    97  \"a\"\n   195  \"\\xc3\"\n   169  \"\\xa9\"\n");
  EXPECT_EQ(with(with("low é", {"--json"}).out, {"--decode"}).out, "low é");
  EXPECT_EQ(with("abc\xff", {}).code, bad_input);
}

TEST_F(Tokenize, WritesAShard) {
  const auto lines = folder_.write("c.jsonl", "{\"body\": \"low\"}\n{\"body\": \"low low\"}\n").string();
  const auto shard = folder_.string() + "/c.bin";
  const auto result =
      run({"tokenize", "--tokenizer", "gpt2", "--data-dir", data_dir(), lines, "--field", "body", "--out", shard});
  EXPECT_EQ(result.code, done) << result.err;
  EXPECT_EQ(result.out, "5 tokens in " + shard + "\n");
  const auto tokens = text::TokenData::open(shard, text::Tokenizer::load(text::TokenizerKind::gpt2, data_dir()));
  EXPECT_THAT(tokens.blocks(4).block(0).inputs, ::testing::ElementsAre(259, 257, 259, 257));
}

TEST_F(Tokenize, BadInputExitsWith3AndOneSentence) {
  const auto invalid = lehi("abc\xff", {});
  EXPECT_EQ(invalid.code, bad_input);
  EXPECT_THAT(invalid.out, IsEmpty());
  EXPECT_THAT(invalid.err, AllOf(HasSubstr("/f is not UTF-8"), HasSubstr("0xff at offset 3")));
  const auto missing = run({"tokenize", "--tokenizer", "llama3", "--data-dir", data_dir(), file("a")});
  EXPECT_EQ(missing.code, bad_input);
  EXPECT_THAT(missing.err,
              AllOf(HasSubstr("tokenizer.json"), HasSubstr(data_dir() + "/llama3"), HasSubstr("lehi data get llama3")));
  EXPECT_EQ(run({"tokenize", "--tokenizer", "gpt2", "--data-dir", data_dir(), "/no/such/file"}).code, bad_input);
}

TEST_F(Tokenize, UsageErrorsExitWith2) {
  for (const Arguments& wrong : {Arguments{"--tokenizer", "gpt2"},
                                 {"f"},
                                 {"f", "--tokenizer", "gpt3"},
                                 {"f", "--tokenizer", "gpt2", "--decode", "--count"},
                                 {"f", "--tokenizer", "gpt2", "--specials", "some"},
                                 {"f", "--tokenizer", "gpt2", "--field", "a"},
                                 {"-", "--tokenizer", "gpt2", "--out", "o.bin"},
                                 {"f", "--tokenizer", "gpt2", "--out", "o.bin", "--specials", "tokens"}}) {
    Arguments arguments = wrong;
    arguments.insert(arguments.begin(), "tokenize");
    const auto result = run(arguments);
    EXPECT_EQ(result.code, usage_error) << wrong.back();
    EXPECT_THAT(result.err, ::testing::StartsWith("lehi: "));
  }
  EXPECT_THAT(run({"tokenize", "--help"}).out, HasSubstr("Examples:"));
}

TEST_F(Tokenize, DashIsStandardInput) {
  const auto result =
      run_process("printf 'low low' | \"$LEHI\" tokenize --tokenizer gpt2 --data-dir '" + data_dir() + "' - --json");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.json()["ids"], (nlohmann::json{257, 258}));
}

}  // namespace
}  // namespace lehi::cli
