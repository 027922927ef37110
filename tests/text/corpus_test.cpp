// Corpora: which files are read, how they are split, and the notices. With bytes as tokens.
#include "text/corpus.h"

#include <gmock/gmock.h>

#include "text/fixture.h"

namespace lehi::text {
namespace {

namespace fs = std::filesystem;
using lehi::testing::Folder;
using lehi::testing::gzipped;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Corpora : public ::testing::Test {
 protected:
  CorpusRequest request(const std::string& task) const {
    return {.task = task,
            .tokenizer = TokenizerKind::bytes,
            .data_dir = folder_.string() + "/data",
            .cache_dir = folder_.string() + "/cache"};
  }
  CorpusRequest letters() const { return request("text:" + folder_.write("t.txt", "abcdefghijklmnopqrst").string()); }
  void write_ptb() const {
    folder_.write("data/ptb/ptb.train.txt", "training");
    folder_.write("data/ptb/ptb.valid.txt.gz", gzipped("valid"));
    folder_.write("data/ptb/ptb.test.txt", "test");
  }
  static std::string text_of(const TokenData& tokens) {
    std::string text;
    for (const auto token : all_of(tokens)) text += static_cast<char>(token);
    return text;
  }

  Folder folder_;
};

TEST_F(Corpora, OneFileIsSplitByFractionsOrCounts) {
  auto wanted = letters();
  auto corpus = load_corpus(wanted);
  EXPECT_EQ(text_of(corpus.train), "abcdefghijklmnopqr");
  EXPECT_EQ(text_of(corpus.test), "st");
  EXPECT_FALSE(corpus.validation);
  EXPECT_EQ(corpus.vocabulary, 256);

  wanted.validation = 0.1;
  wanted.test = 0.25;
  wanted.train_tokens = 4;
  corpus = load_corpus(wanted);
  EXPECT_EQ(text_of(corpus.train), "abcd");
  EXPECT_EQ(text_of(corpus.validation.value()), "no");
  EXPECT_EQ(text_of(corpus.test), "pqrst");

  wanted.test_tokens = 10;  // instead of the fraction
  corpus = load_corpus(wanted);
  EXPECT_EQ(text_of(corpus.train), "abcd");
  EXPECT_EQ(text_of(corpus.validation.value()), "j");
  EXPECT_EQ(text_of(corpus.test), "klmnopqrst");
  EXPECT_THAT(corpus.notices, IsEmpty());
}

TEST_F(Corpora, TooFewTokensShortenTrainingAndAddANotice) {
  auto wanted = letters();
  wanted.train_tokens = 15;
  wanted.test_tokens = 5;
  EXPECT_THAT(load_corpus(wanted).notices, IsEmpty());
  wanted.test_tokens = 6;
  const auto corpus = load_corpus(wanted);
  EXPECT_EQ(text_of(corpus.train), "abcdefghijklmn");
  EXPECT_EQ(text_of(corpus.test), "opqrst");
  EXPECT_THAT(corpus.notices, ElementsAre("training on " + folder_.string() +
                                          "/t.txt without its 0 tokens for validation and 6 for testing: 14 tokens, "
                                          "fewer than the 15 requested"));
  wanted.test_tokens = 20;
  EXPECT_THAT(message_of([&] { load_corpus(wanted); }),
              HasSubstr("t.txt has 20 tokens: with 20 for testing, none are left for training"));
}

TEST_F(Corpora, PtbHasItsOfficialParts) {
  write_ptb();
  auto wanted = request("ptb");
  wanted.test = 0.5;  // both have no effect: the parts exist
  wanted.validation = 0.5;
  wanted.train_tokens = 5;
  wanted.test_tokens = 7;
  const auto corpus = load_corpus(wanted);
  EXPECT_EQ(text_of(corpus.train), "train");
  EXPECT_EQ(text_of(corpus.validation.value()), "valid");
  EXPECT_EQ(text_of(corpus.test), "test");
  EXPECT_THAT(corpus.notices,
              ElementsAre("testing on " + wanted.data_dir + "/ptb/ptb.test.txt: 4 tokens, fewer than the 7 requested"));
}

TEST_F(Corpora, FinewebIsOneFileOrTwo) {
  auto wanted = request("fineweb-edu");
  wanted.field = "body";
  wanted.validation = 0.2;
  folder_.write("data/fineweb-edu/train.jsonl.gz", gzipped("{\"body\": \"abcdefghi\"}"));
  folder_.write("data/fineweb-edu/test.txt", "xyz");
  auto corpus = load_corpus(wanted);
  EXPECT_EQ(text_of(corpus.train),
            "\xff"
            "abcdefg");
  EXPECT_EQ(text_of(corpus.validation.value()), "hi");
  EXPECT_EQ(text_of(corpus.test), "xyz");

  // One file is preferred to two. A shard needs no vocabulary files, and there are none here.
  const auto gpt2 = small_tokenizer(TokenizerKind::gpt2, small_parts({}));
  write_tokens(folder_.write("s.txt", "0123456789"), "", gpt2, folder_.path() / "data/fineweb-edu/fineweb-edu.bin");
  wanted.tokenizer = TokenizerKind::gpt2;
  corpus = load_corpus(wanted);
  EXPECT_EQ(text_of(corpus.train), "0123456");
  EXPECT_EQ(text_of(corpus.test), "9");
  EXPECT_EQ(corpus.vocabulary, 50'257);
}

TEST_F(Corpora, SpeechesReplaceATasksFiles) {
  folder_.write("data/speeches/speeches.txt", "fellow citizens\n");
  auto wanted = request("ptb");
  wanted.corpus = "speeches";
  wanted.test_tokens = 9;
  EXPECT_EQ(text_of(load_corpus(wanted).train), "fellow ");
}

TEST_F(Corpora, TextsAreTokenisedOnlyOnce) {
  write_ptb();
  std::vector<std::string> messages;
  auto wanted = request("ptb");
  wanted.on_message = [&](const std::string& message) { messages.push_back(message); };
  load_corpus(wanted);
  EXPECT_THAT(messages, ElementsAre(HasSubstr("ptb.train.txt"), HasSubstr("ptb.valid.txt.gz"), HasSubstr("bytes")));
  wanted.train_tokens = 3;  // applied after the cache
  EXPECT_EQ(text_of(load_corpus(wanted).train), "tra");
  EXPECT_EQ(messages.size(), 3U);
}

TEST_F(Corpora, MissingFilesThrowWithPlaceAndAdvice) {
  const auto missing = [&](const std::string& task, const std::string& corpus = "") {
    auto wanted = request(task);
    wanted.corpus = corpus;
    return message_of([&] { load_corpus(wanted); });
  };
  const std::string data = folder_.string() + "/data";
  EXPECT_THAT(missing("ptb"), AllOf(HasSubstr("ptb.train.txt, ptb.valid.txt, ptb.test.txt (plain or .gz)"),
                                    HasSubstr(data + "/ptb"), HasSubstr("Mikolov")));
  folder_.write("data/fineweb-edu/train.jsonl", "");  // without test.*
  EXPECT_THAT(missing("fineweb-edu"), AllOf(HasSubstr("fineweb-edu.jsonl (also as .jsonl.gz, .jsonl.zst, .txt, .bin)"),
                                            HasSubstr(data + "/fineweb-edu"), HasSubstr("Hugging Face"),
                                            HasSubstr("train.jsonl and test.jsonl")));
  EXPECT_THAT(missing("ptb", "speeches"), AllOf(HasSubstr(data + "/speeches"), HasSubstr("lehi data get speeches")));
  EXPECT_THAT(missing("text:/no/such/file"), HasSubstr("/no/such/file can't be opened"));
  auto without_vocabulary = letters();
  without_vocabulary.tokenizer = TokenizerKind::gpt2;
  EXPECT_THAT(message_of([&] { load_corpus(without_vocabulary); }), HasSubstr("lehi data get gpt2"));
}

TEST_F(Corpora, WrongRequestsThrow) {
  const auto error_for = [&](const std::function<void(CorpusRequest&)>& change) {
    auto wanted = letters();
    change(wanted);
    return message_of([&] { load_corpus(wanted); });
  };
  EXPECT_THAT(error_for([](auto& wanted) { wanted.task = "mnist"; }),
              HasSubstr("task 'mnist' is not a text task: expected ptb, fineweb-edu or text:FILE"));
  EXPECT_THAT(error_for([](auto& wanted) { wanted.task = "text:"; }), HasSubstr("has no file name"));
  EXPECT_THAT(error_for([](auto& wanted) { wanted.corpus = "songs"; }),
              HasSubstr("corpus 'songs' is unknown: expected speeches"));
  EXPECT_THAT(error_for([](auto& wanted) { wanted.corpus = "speeches"; }), HasSubstr("remove the corpus speeches"));
  EXPECT_THAT(error_for([](auto& wanted) { wanted.train_tokens = -1; }), HasSubstr("-1 tokens for training"));
  EXPECT_THAT(error_for([](auto& wanted) { wanted.test = 1; }), HasSubstr("their sum below 1"));
}

TEST_F(Corpora, TextThatIsNotUtf8ThrowsAndIsNotCached) {
  const auto wanted = request("text:" + folder_.write("bad.txt", "ab\xff").string());
  EXPECT_THAT(message_of([&] { load_corpus(wanted); }),
              HasSubstr("bad.txt is not UTF-8: no valid character starts with the byte 0xff at offset 2"));
  EXPECT_TRUE(fs::is_empty(wanted.cache_dir));
}

}  // namespace
}  // namespace lehi::text
