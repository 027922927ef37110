// Files that are too large for a corpus: made to need many times their size in memory, or to lead elsewhere. Each goes
// through its fuzz target, whose judge of memory must stay silent, and is refused with a sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <functional>

#include "data/bytes.h"
#include "data/csv.h"
#include "data/error.h"
#include "data_room/fixture.h"
#include "files/files.h"
#include "harness.h"
#include "support/support.h"
#include "text/documents.h"
#include "text/vocabulary_files.h"
#include "train/json_file.h"

namespace lehi::fuzz {
namespace {

using lehi::testing::message_of;
using lehi::testing::repeated;
using ::testing::HasSubstr;

std::string judged(const std::string& target, const std::string& input) {
  try {
    run_target(*find_target(target), input);
  } catch (const Finding& finding) {
    return finding.what();
  }
  return "";
}

std::string with_header(const std::string& json) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(json.size() >> (8 * i));
  return bytes + json;
}

// Zeros, a mebibyte at a time: the bomb's contents are never in memory.
std::string gzip_bomb(int mebibytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::vector<Bytef> zeros(1 << 20);
  std::vector<Bytef> out(1 << 16);
  std::string packed;
  for (int i = 0; i <= mebibytes; ++i) {
    stream.next_in = zeros.data();
    stream.avail_in = i < mebibytes ? static_cast<uInt>(zeros.size()) : 0;
    do {
      stream.next_out = out.data();
      stream.avail_out = static_cast<uInt>(out.size());
      deflate(&stream, i < mebibytes ? Z_NO_FLUSH : Z_FINISH);
      packed.append(out.begin(), out.end() - stream.avail_out);
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return packed;
}

std::string zstd_bomb(int mebibytes, int window) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, window);
  const std::vector<char> zeros(1 << 20);
  std::vector<char> out(1 << 20);
  std::string packed;
  for (int i = 0; i <= mebibytes; ++i) {
    ZSTD_inBuffer in{zeros.data(), i < mebibytes ? zeros.size() : 0, 0};
    for (bool more = true; more;) {
      ZSTD_outBuffer to{out.data(), out.size(), 0};
      const auto left = ZSTD_compressStream2(context.get(), &to, &in, i < mebibytes ? ZSTD_e_continue : ZSTD_e_end);
      packed.append(out.data(), to.pos);
      more = i < mebibytes ? in.pos < in.size : left != 0;
    }
  }
  return packed;
}

// Three bytes a value, each of which needs sixty or so in memory.
TEST(HostileFiles, DocumentsOfTinyValuesAreRefusedWhileSmall) {
  const auto lists = repeated("[],", 4'000'000);
  EXPECT_EQ(judged("run-record", "{\"schema\":[" + lists + "[]]}"), "");
  EXPECT_EQ(judged("study", "{\"runs\":[" + lists + "[]]}"), "");
  EXPECT_EQ(judged("checkpoint", "{\"state\":[" + lists + "[]]}"), "");
  EXPECT_EQ(judged("shard-index", "{\"weight_map\":[" + lists + "[]]}"), "");
  EXPECT_EQ(judged("metrics", "{\"step\":0,\"a\":[" + lists + "[]]}\n"), "");
  EXPECT_THAT(message_of([&] { train::parse_json("[" + lists + "[]]", "x"); }), HasSubstr("more values than"));
  std::string members = "{";
  for (int i = 0; i < 1'000'000; ++i) members += fmt::format("\"{}\":0,", i);
  members += "\"\":0}";
  EXPECT_EQ(judged("safetensors", with_header(members)), "");
  EXPECT_THAT(message_of([&] { train::parse_json(members, "x"); }), HasSubstr("more values than"));
}

// What a run writes is far from that limit: a hundred thousand numbers.
TEST(HostileFiles, HonestDocumentsAreNot) {
  std::string numbers = "[0.12345678";
  for (int i = 0; i < 100'000; ++i) numbers += ",0.12345678";
  EXPECT_EQ(train::parse_json(numbers + "]", "x").size(), 100'001U);
}

TEST(HostileFiles, CompressedBombsNeedNoMemory) {
  for (const auto& bomb : {gzip_bomb(300), zstd_bomb(300, 20)}) {
    ASSERT_LT(bomb.size(), 400'000U);
    EXPECT_EQ(judged("gzip", bomb), "");
    EXPECT_EQ(judged("documents", bomb), "");
    const auto file = input_file("bomb", bomb);
    const std::string said = message_of([&] { data::read_bytes(file, std::int64_t{1} << 40); });
    EXPECT_THAT(said, HasSubstr("decompresses to more than 100 times its size"));
  }
  EXPECT_EQ(judged("idx", gzip_bomb(300)), "");
  const auto file = input_file("bomb", gzip_bomb(70));
  EXPECT_THAT(message_of([&] { data::read_bytes(file); }), HasSubstr("decompresses to more than 100 times its size"));
}

TEST(HostileFiles, SmallFrameIsNotGivenTheMemoryThatItAsksFor) {
  const auto frame = zstd_bomb(1, 27);
  ASSERT_LT(frame.size(), 1000U);
  EXPECT_EQ(judged("documents", frame), "");
  EXPECT_THAT(message_of([&] { data::read_bytes(input_file("frame", frame), 1 << 30); }), HasSubstr("corrupt zstd"));
}

// The gzip trailer's claim is believed where it is harmless, and never where it is wrong.
TEST(HostileFiles, WrongSizesInGzipChangeNothing) {
  auto packed = gzip_bomb(1);
  for (const std::size_t claim : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    for (std::size_t i = 0; i < 4; ++i) packed[packed.size() - 4 + i] = static_cast<char>(claim >> (8 * i));
    EXPECT_THAT(message_of([&] { data::read_bytes(input_file("lie", packed)); }), HasSubstr("corrupt gzip"));
  }
  const auto two = gzip_bomb(1) + gzip_bomb(2);  // the last one's size is not that of the file
  EXPECT_EQ(data::read_bytes(input_file("two", two)), std::string(3 << 20, '\0'));
}

TEST(HostileFiles, ZstdIsDecompressedEverywhere) {
  EXPECT_EQ(data::read_bytes(input_file("frame", zstd_bomb(1, 20))), std::string(1 << 20, '\0'));
}

TEST(HostileFiles, TablesOfManyColumnsAreRefused) {
  EXPECT_EQ(judged("csv", std::string(10'000'000, ',')), "");
  EXPECT_THAT(message_of([] { data::parse_csv(std::string(300'000, ','), "a.csv"); }), HasSubstr("200000 columns"));
}

// The last row is bad: nothing but the numbers of the others is in memory by then. (Sixteen bytes a row: eight for its
// number, eight for its line.)
TEST(HostileFiles, TableNeedsNoMoreThanItsNumbers) {
  EXPECT_EQ(judged("csv", "a\n" + repeated("1234567\n", 8'000'000) + "NA\n"), "");
}

// Every value's path repeats the key above it.
TEST(HostileFiles, LongKeysOfATokenizerAreNotMultiplied) {
  std::string json = "{\"" + std::string(1'000'000, 'k') + "\":{";
  for (int i = 0; i < 10'000; ++i) json += fmt::format("\"{}\":1,", i);
  json += "\"\":1}}";
  EXPECT_EQ(judged("llama3-file", json), "");
  EXPECT_THAT(message_of([&] { text::read_llama3(json, "tokenizer.json"); }), HasSubstr("is very long"));
}

TEST(HostileFiles, VocabularyWithoutEndIsRefusedOnTheWay) {
  EXPECT_EQ(judged("gpt2-files", "{\"a\":0,\"<|endoftext|>\":1}\n====\n#version\n" + repeated("a a\n", 3'000'000)), "");
  EXPECT_THAT(
      message_of([] { text::read_gpt2("{\"<|endoftext|>\":0}", "#version\n" + repeated("a a\n", 600'000), "gpt2"); }),
      HasSubstr("more than 500000 merges"));
}

// A table for every part would be half a million levels deep: the parser's own destructor would overflow the stack.
TEST(HostileFiles, KeysOfManyPartsAreRefused) {
  const auto key = "a" + repeated(".a", 500'000);
  for (const auto& text : {key + " = 1\n", "[" + key + "]\n", "x = {" + key + " = 1}\n"}) {
    EXPECT_EQ(judged("config", text), "");
    EXPECT_EQ(judged("study-file", text), "");
  }
}

TEST(HostileFiles, DeepNestingIsRefused) {
  for (const char* target : {"run-record", "study", "metrics", "model-config", "shard-index", "checkpoint", "config",
                             "study-file", "llama3-file", "documents"}) {
    EXPECT_EQ(judged(target, "{\"a\":" + std::string(900'000, '[')), "") << target;
    EXPECT_EQ(judged(target, "a = " + std::string(900'000, '[')), "") << target;
  }
}

}  // namespace
}  // namespace lehi::fuzz
