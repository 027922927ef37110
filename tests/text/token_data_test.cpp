// Token shards, blocks, splits and the token cache.
#include "text/token_data.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstring>

#include "text/fixture.h"
#include "text/token_shard.h"

namespace lehi::text {
namespace {

namespace fs = std::filesystem;
using lehi::testing::Environment;
using lehi::testing::Folder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A shard as written by llm.c's dev/data/data_common.py.
template <class Token>
std::string shard_bytes(std::int32_t magic, std::int32_t version, std::int32_t count,
                        const std::vector<Token>& tokens) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  std::string bytes(1024 + tokens.size() * sizeof(Token), '\0');
  std::memcpy(bytes.data(), header.data(), 1024);
  if (!tokens.empty()) std::memcpy(bytes.data() + 1024, tokens.data(), tokens.size() * sizeof(Token));
  return bytes;
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class Tokens : public ::testing::Test {
 protected:
  static std::vector<std::uint16_t> up_to(std::uint16_t count) {
    std::vector<std::uint16_t> list;
    for (std::uint16_t i = 0; i < count; ++i) list.push_back(i);
    return list;
  }
  TokenData numbers(std::uint16_t count) const {
    return TokenData::open(folder_.write("n.bin", shard_bytes<std::uint16_t>(20240520, 1, count, up_to(count))), gpt2_);
  }
  std::string open_error(const std::string& bytes) const {
    const auto file = folder_.write("r.bin", bytes);
    return message_of([&] { TokenData::open(file, gpt2_); });
  }

  Folder folder_;
  Tokenizer gpt2_ = small_tokenizer(TokenizerKind::gpt2, small_parts({{"a", "b"}}));
  Tokenizer llama3_ = small_tokenizer(TokenizerKind::llama3, small_parts({{"a", "b"}}));
  Tokenizer bytes_ = Tokenizer::load(TokenizerKind::bytes, "");
};

TEST_F(Tokens, ShardsOfBothWidthsAreRead) {
  const auto two = folder_.write("a.bin", shard_bytes<std::uint16_t>(20240520, 1, 3, {1, 258, 0}));
  EXPECT_THAT(all_of(TokenData::open(two, gpt2_)), ElementsAre(1, 258, 0));
  const auto four = folder_.write("b.bin", shard_bytes<std::uint32_t>(20240801, 7, 2, {258, 3}));
  EXPECT_THAT(all_of(TokenData::open(four, llama3_)), ElementsAre(258, 3));
  EXPECT_THAT(message_of([&] { TokenData::open(four, gpt2_); }),
              HasSubstr("holds tokens of llama3; expected tokens of gpt2"));
  EXPECT_EQ(TokenData::open(folder_.write("c.bin", shard_bytes<std::uint16_t>(20240520, 1, 0, {})), gpt2_).size(), 0);
}

TEST_F(Tokens, DamagedShardsThrow) {
  const std::string good = shard_bytes<std::uint16_t>(20240520, 1, 3, {1, 2, 3});
  EXPECT_EQ(open_error(good), "");
  EXPECT_THAT(open_error(""), HasSubstr("r.bin has 0 bytes; the header of a token shard alone has 1024"));
  EXPECT_THAT(open_error(good.substr(0, 1023)), HasSubstr("has 1023 bytes;"));
  EXPECT_THAT(open_error(good.substr(0, 1029)), HasSubstr("declares 3 tokens of 2 bytes, but 5 bytes follow"));
  EXPECT_THAT(open_error(good + "x"), HasSubstr("7 bytes follow"));
  EXPECT_THAT(open_error(shard_bytes<std::uint16_t>(20240520, 1, 2147483647, {1})),
              HasSubstr("declares 2147483647 tokens"));
  EXPECT_THAT(open_error(shard_bytes<std::uint16_t>(20240520, 1, -1, {})), HasSubstr("declares -1 tokens"));
  EXPECT_THAT(
      open_error(shard_bytes<std::uint16_t>(20240521, 1, 1, {1})),
      HasSubstr("not a token shard: it begins with 20240521; expected one of 20240520 (gpt2), 20240801 (llama3), "
                "1768449388 (bytes)"));
  EXPECT_THAT(open_error(shard_bytes<std::uint16_t>(20240520, 2, 1, {1})),
              HasSubstr("version 2; gpt2 shards have version 1"));
  EXPECT_THAT(open_error(shard_bytes<std::uint16_t>(20240520, 1, 3, {1, 2, 259})),
              HasSubstr("token 2 is 259, but the tokens of gpt2 are 0 to 258"));
  EXPECT_THAT(message_of([&] { TokenData::open(folder_.path(), gpt2_); }), HasSubstr("not a regular file"));
  EXPECT_THAT(message_of([&] { TokenData::open(folder_.path() / "none", gpt2_); }), HasSubstr("none can't be opened"));
}

TEST_F(Tokens, BlocksHaveTargetsShiftedByOne) {
  const auto blocks = numbers(11).blocks(3);
  ASSERT_EQ(blocks.size(), 3);
  EXPECT_THAT(blocks.block(0).inputs, ElementsAre(0, 1, 2));
  EXPECT_THAT(blocks.block(0).targets, ElementsAre(1, 2, 3));
  EXPECT_THAT(blocks.block(2).inputs, ElementsAre(6, 7, 8));
  EXPECT_THAT(blocks.block(2).targets, ElementsAre(7, 8, 9));
  EXPECT_EQ(numbers(10).blocks(3).size(), 3);  // the last target is the last token
  EXPECT_EQ(numbers(9).blocks(3).size(), 2);
  EXPECT_EQ(numbers(2).blocks(1).size(), 1);
  EXPECT_THAT(message_of([&] { numbers(3).blocks(3); }), HasSubstr("3 tokens are too few for a block of 3"));
  EXPECT_THAT(message_of([&] { numbers(0).blocks(1); }), HasSubstr("0 tokens are too few for a block"));
  EXPECT_THAT(message_of([&] { numbers(3).blocks(0); }), HasSubstr("at least 1"));
  EXPECT_THAT(message_of([&] { blocks.block(3); }), HasSubstr("block 3 is out of range: expected 0 to 2"));
  EXPECT_THAT(message_of([&] { blocks.block(-1); }), HasSubstr("block -1"));
  std::vector<std::int64_t> short_one(2);
  EXPECT_THAT(message_of([&] { blocks.copy(0, short_one, short_one); }), HasSubstr("has 3 inputs and targets, not 2"));
}

TEST_F(Tokens, SplitsFollowEachOther) {
  const auto parts = split(numbers(20), 0.1, 0.25);
  EXPECT_EQ(parts.train.size(), 13);
  EXPECT_THAT(all_of(parts.validation), ElementsAre(13, 14));
  EXPECT_THAT(all_of(parts.test), ElementsAre(15, 16, 17, 18, 19));
  EXPECT_THAT(parts.test.blocks(2).block(1).targets, ElementsAre(18, 19));
  EXPECT_EQ(split(numbers(20), 0, 0).train.size(), 20);
  for (const auto& [validation, test] : {std::pair(-0.1, 0.0), std::pair(0.5, 0.5), std::pair(std::nan(""), 0.1)}) {
    EXPECT_THAT(message_of([&, v = validation, t = test] { split(numbers(20), v, t); }),
                HasSubstr("their sum below 1"));
  }
  EXPECT_THAT(message_of([&] { numbers(5).slice(2, 6); }), HasSubstr("not a range of the 5 tokens"));
  std::vector<std::int64_t> six(6);
  EXPECT_THAT(message_of([&] { numbers(5).copy(0, six); }), HasSubstr("there are 5 tokens"));
}

TEST_F(Tokens, TextIsTokenisedOnceThenReadFromTheCache) {
  const auto text = folder_.write("t.txt", "abc<|endoftext|>");
  const TokenRequest request{.file = text, .cache_dir = folder_.string() + "/cache"};
  const auto first = load_tokens(request, gpt2_);
  const auto tokens = all_of(first);
  EXPECT_EQ(first.size(), 2 + 13);  // special tokens in the text are ordinary text
  EXPECT_THAT(all_of(first.slice(0, 3)), ElementsAre(256, 'c', '<'));
  std::vector<fs::path> cached;
  for (const auto& entry : fs::directory_iterator(request.cache_dir)) cached.push_back(entry.path());
  ASSERT_EQ(cached.size(), 1U);  // and no other file is left

  // The cache is used: the text is not tokenised again.
  folder_.write("cache/" + cached[0].filename().string(), shard_bytes<std::uint16_t>(20240520, 1, 1, {42}));
  EXPECT_THAT(all_of(load_tokens(request, gpt2_)), ElementsAre(42));
  // A damaged cache file is not used.
  folder_.write("cache/" + cached[0].filename().string(), "damaged");
  EXPECT_EQ(all_of(load_tokens(request, gpt2_)), tokens);

  // Another text or tokenizer has its own cache file.
  folder_.write("t.txt", "abd");
  EXPECT_THAT(all_of(load_tokens(request, gpt2_)), ElementsAre(256, 'd'));
  EXPECT_THAT(all_of(load_tokens(request, llama3_)), ElementsAre(256, 'd'));
  EXPECT_EQ(std::distance(fs::directory_iterator(request.cache_dir), {}), 3);
}

TEST_F(Tokens, JsonLinesHaveADocumentStartInFrontOfEach) {
  const auto file =
      folder_.write("d.jsonl", "{\"body\": \"ab\", \"text\": \"x\"}\n{\"body\": \"c\", \"text\": \"y\"}\n");
  TokenRequest request{.file = file, .field = "body", .cache_dir = folder_.string() + "/cache"};
  EXPECT_THAT(all_of(load_tokens(request, gpt2_)), ElementsAre(257, 256, 257, 'c'));
  EXPECT_THAT(all_of(load_tokens(request, llama3_)), ElementsAre(258, 256, 258, 'c'));
  request.field = "text";
  EXPECT_THAT(all_of(load_tokens(request, gpt2_)), ElementsAre(257, 'x', 257, 'y'));
  request.field = "none";
  EXPECT_THAT(message_of([&] { load_tokens(request, gpt2_); }), HasSubstr("no field 'none'"));
  EXPECT_EQ(std::distance(fs::directory_iterator(request.cache_dir), {}), 3);  // a failure leaves no file
}

TEST_F(Tokens, WrittenShardHasLlmCsFormat) {
  const auto text = folder_.write("t.txt", "abab");
  EXPECT_EQ(write_tokens(text, "text", gpt2_, folder_.path() / "o.bin"), 2);
  EXPECT_EQ(contents(folder_.path() / "o.bin"), shard_bytes<std::uint16_t>(20240520, 1, 2, {256, 256}));
  EXPECT_EQ(write_tokens(text, "text", llama3_, folder_.path() / "o.bin"), 2);
  EXPECT_EQ(contents(folder_.path() / "o.bin"), shard_bytes<std::uint32_t>(20240801, 7, 2, {256, 256}));
  EXPECT_THAT(all_of(load_tokens({.file = folder_.path() / "o.bin"}, llama3_)), ElementsAre(256, 256));
  EXPECT_THAT(message_of([&] { write_tokens(text, "text", gpt2_, folder_.path() / "no/o.bin"); }),
              HasSubstr("cannot create " + (folder_.path() / "no/o.bin").string() + ":"));
}

// Shards of bytes have their own magic number, so they can't be mistaken for GPT-2's.
TEST_F(Tokens, BytesAreStoredInShardsAndCacheLikeOtherTokens) {
  const auto lines = folder_.write("d.jsonl", "{\"text\": \"ab\"}\n{\"text\": \"é\"}\n");
  const TokenRequest request{.file = lines, .cache_dir = folder_.string() + "/cache"};
  const auto expected = ElementsAre(0xff, 'a', 'b', 0xff, 0xc3, 0xa9);
  EXPECT_THAT(all_of(load_tokens(request, bytes_)), expected);
  const auto shard = folder_.path() / "o.bin";
  EXPECT_EQ(write_tokens(lines, "text", bytes_, shard), 6);
  EXPECT_EQ(contents(shard).substr(0, 4), "lehi");
  EXPECT_EQ(contents(shard).size(), 1024U + 6 * 2);
  EXPECT_THAT(all_of(TokenData::open(shard, bytes_)), expected);
  EXPECT_THAT(all_of(TokenData::open(shard, TokenizerKind::bytes)), expected);
  EXPECT_THAT(message_of([&] { TokenData::open(shard, gpt2_); }),
              HasSubstr("holds tokens of bytes; expected tokens of gpt2"));
  const auto large = folder_.write("l.bin", shard_bytes<std::uint16_t>(0x6968656c, 1, 1, {256}));
  EXPECT_THAT(message_of([&] { TokenData::open(large, TokenizerKind::bytes); }),
              HasSubstr("token 0 is 256, but the tokens of bytes are 0 to 255"));
}

TEST_F(Tokens, MessageComesOnlyBeforeTokenising) {
  std::vector<std::string> messages;
  TokenRequest request{.file = folder_.write("t.txt", std::string(200'000, 'a')),
                       .cache_dir = folder_.string() + "/cache",
                       .on_message = [&](const std::string& message) { messages.push_back(message); }};
  load_tokens(request, gpt2_);
  load_tokens(request, gpt2_);
  EXPECT_THAT(messages, ElementsAre(AllOf(HasSubstr("tokenising " + request.file.string() + " (0.2 MB) with gpt2"),
                                          HasSubstr("the tokens are cached in " + request.cache_dir))));
}

// The size is the same, and so is the time within the resolution of the file system: only the contents differ.
TEST_F(Tokens, TextThatChangesWhileItIsTokenisedIsNotCached) {
  TokenRequest request{.file = folder_.write("t.txt", "abc"),
                       .cache_dir = folder_.string() + "/cache",
                       .on_message = [&](const std::string&) { folder_.write("t.txt", "xyz"); }};
  EXPECT_THAT(message_of([&] { load_tokens(request, gpt2_); }),
              HasSubstr("t.txt changed while it was tokenised; run again when no process writes to it"));
  EXPECT_TRUE(fs::is_empty(request.cache_dir));
  folder_.write("t.txt", "abc");
  request.on_message = {};
  EXPECT_THAT(all_of(load_tokens(request, gpt2_)), ElementsAre(256, 'c'));
}

TEST_F(Tokens, TemporaryFilesOfKilledWritersAreRemovedAndThoseOfRunningOnesKept) {
  const auto dead = folder_.write("o.bin.tmp-123-0", "x");
  const auto alive = folder_.write("o.bin.tmp-123-1", "x");
  const auto not_its_own = folder_.write("a.bin.tmp-123-0", "x");
  const int descriptor = ::open(alive.c_str(), O_RDONLY);
  ASSERT_EQ(flock(descriptor, LOCK_EX), 0);
  write_tokens(folder_.write("t.txt", "a"), "text", gpt2_, folder_.path() / "o.bin");
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(not_its_own));
  ::close(descriptor);
}

TEST(TokenCache, DirectoryFollowsXdg) {
  const Environment home("HOME", "/h");
  const Environment xdg("XDG_CACHE_HOME", "/x");
  EXPECT_EQ(token_cache_directory("/mine"), "/mine");
  EXPECT_EQ(token_cache_directory(""), "/x/lehi/tokens");
  const Environment relative("XDG_CACHE_HOME", "x");
  EXPECT_EQ(token_cache_directory(""), "/h/.cache/lehi/tokens");
  const Environment no_home("HOME", std::nullopt);
  EXPECT_THAT(message_of([] { token_cache_directory(""); }), HasSubstr("XDG_CACHE_HOME"));
}

// With a mapped file, SIGBUS would end the process here.
TEST(TokenShard, TruncatedWhileInUseThrows) {
  const Folder folder;
  const auto file =
      folder.write("a.bin", shard_bytes<std::uint16_t>(20240520, 1, 40'000, std::vector<std::uint16_t>(40'000, 7)));
  const auto tokens = TokenData::open(file, TokenizerKind::gpt2);
  fs::resize_file(file, 1024 + 20'000);
  EXPECT_EQ(all_of(tokens.slice(0, 10'000)), std::vector<std::int64_t>(10'000, 7));
  EXPECT_THAT(message_of([&] { all_of(tokens); }),
              AllOf(HasSubstr("a.bin ends at byte 21024"), HasSubstr("81024 bytes")));
}

}  // namespace
}  // namespace lehi::text
