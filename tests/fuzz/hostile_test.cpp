// Malicious files that are too large for the corpus: made to need many times their size in memory. Each is run through
// its fuzz target, which must not exceed its memory limit, and must be rejected with one sentence.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <functional>

#include "data/bytes.h"
#include "data/csv.h"
#include "data/error.h"
#include "data_files/fixture.h"
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

std::string finding_for(const std::string& target, const std::string& input) {
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

// Compressed zeros, written a mebibyte at a time, so that the contents are never in memory at once.
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

// Values of three bytes each, which need about sixty bytes each in memory.
TEST(HostileFiles, DocumentsOfTinyValuesThrowEarly) {
  const auto lists = repeated("[],", 4'000'000);
  EXPECT_EQ(finding_for("run-record", "{\"schema\":[" + lists + "[]]}"), "");
  EXPECT_EQ(finding_for("study", "{\"runs\":[" + lists + "[]]}"), "");
  EXPECT_EQ(finding_for("checkpoint", "{\"state\":[" + lists + "[]]}"), "");
  EXPECT_EQ(finding_for("shard-index", "{\"weight_map\":[" + lists + "[]]}"), "");
  EXPECT_EQ(finding_for("metrics", "{\"step\":0,\"a\":[" + lists + "[]]}\n"), "");
  EXPECT_THAT(message_of([&] { train::parse_json("[" + lists + "[]]", "x"); }), HasSubstr("too many values for"));
  std::string members = "{";
  for (int i = 0; i < 1'000'000; ++i) members += fmt::format("\"{}\":0,", i);
  members += "\"\":0}";
  EXPECT_EQ(finding_for("safetensors", with_header(members)), "");
  EXPECT_THAT(message_of([&] { train::parse_json(members, "x"); }), HasSubstr("too many values for"));
}

// A document of a hundred thousand numbers, more than a run writes, is within the limit.
TEST(HostileFiles, OrdinaryDocumentsAreRead) {
  std::string numbers = "[0.12345678";
  for (int i = 0; i < 100'000; ++i) numbers += ",0.12345678";
  EXPECT_EQ(train::parse_json(numbers + "]", "x").size(), 100'001U);
}

TEST(HostileFiles, CompressionBombsNeedNoMemory) {
  for (const auto& bomb : {gzip_bomb(300), zstd_bomb(300, 20)}) {
    ASSERT_LT(bomb.size(), 400'000U);
    EXPECT_EQ(finding_for("gzip", bomb), "");
    EXPECT_EQ(finding_for("documents", bomb), "");
    const auto file = input_file("bomb", bomb);
    const std::string message = message_of([&] { data::read_bytes(file, std::int64_t{1} << 40); });
    EXPECT_THAT(message, HasSubstr("decompresses to more than 100 times its size"));
  }
  EXPECT_EQ(finding_for("idx", gzip_bomb(300)), "");
  const auto file = input_file("bomb", gzip_bomb(70));
  EXPECT_THAT(message_of([&] { data::read_bytes(file); }), HasSubstr("decompresses to more than 100 times its size"));
}

TEST(HostileFiles, SmallFrameThatDeclaresMuchMemoryThrows) {
  const auto frame = zstd_bomb(1, 27);
  ASSERT_LT(frame.size(), 1000U);
  EXPECT_EQ(finding_for("documents", frame), "");
  EXPECT_THAT(message_of([&] { data::read_bytes(input_file("frame", frame), 1 << 30); }), HasSubstr("corrupt zstd"));
}

// The size in the gzip trailer is only a hint: a wrong one does not change the result.
TEST(HostileFiles, WrongSizesInGzipChangeNothing) {
  auto packed = gzip_bomb(1);
  for (const std::size_t claim : {std::size_t{0}, std::size_t{1}, std::size_t{1000}}) {
    for (std::size_t i = 0; i < 4; ++i) packed[packed.size() - 4 + i] = static_cast<char>(claim >> (8 * i));
    EXPECT_THAT(message_of([&] { data::read_bytes(input_file("wrong-size", packed)); }), HasSubstr("corrupt gzip"));
  }
  const auto two = gzip_bomb(1) + gzip_bomb(2);  // the trailer has the size of the last member only
  EXPECT_EQ(data::read_bytes(input_file("two", two)), std::string(3 << 20, '\0'));
}

TEST(HostileFiles, ZstdIsDecompressedEverywhere) {
  EXPECT_EQ(data::read_bytes(input_file("frame", zstd_bomb(1, 20))), std::string(1 << 20, '\0'));
}

TEST(HostileFiles, TablesOfManyColumnsThrow) {
  EXPECT_EQ(finding_for("csv", std::string(10'000'000, ',')), "");
  EXPECT_THAT(message_of([] { data::parse_csv(std::string(300'000, ','), "a.csv"); }), HasSubstr("200000 columns"));
}

// The last row is invalid, so that the whole table is scanned before it is rejected.
TEST(HostileFiles, RejectedTableNeedsLittleMemory) {
  EXPECT_EQ(finding_for("csv", "a\n" + repeated("1234567\n", 8'000'000) + "NA\n"), "");
}

// The path of every value repeats the key above it.
TEST(HostileFiles, LongKeysOfATokenizerAreNotMultiplied) {
  std::string json = "{\"" + std::string(1'000'000, 'k') + "\":{";
  for (int i = 0; i < 10'000; ++i) json += fmt::format("\"{}\":1,", i);
  json += "\"\":1}}";
  EXPECT_EQ(finding_for("llama3-file", json), "");
  EXPECT_THAT(message_of([&] { text::read_llama3(json, "tokenizer.json"); }), HasSubstr("a very long name"));
}

TEST(HostileFiles, VocabularyWithTooManyMergesThrowsEarly) {
  EXPECT_EQ(finding_for("gpt2-files", "{\"a\":0,\"<|endoftext|>\":1}\n====\n#version\n" + repeated("a a\n", 3'000'000)),
            "");
  EXPECT_THAT(
      message_of([] { text::read_gpt2("{\"<|endoftext|>\":0}", "#version\n" + repeated("a a\n", 600'000), "gpt2"); }),
      HasSubstr("more than 500000 merges"));
}

// One table per part would be half a million levels deep, and the parser's destructor would overflow the stack.
TEST(HostileFiles, KeysOfManyPartsThrow) {
  const auto key = "a" + repeated(".a", 500'000);
  for (const auto& text : {key + " = 1\n", "[" + key + "]\n", "x = {" + key + " = 1}\n"}) {
    EXPECT_EQ(finding_for("config", text), "");
    EXPECT_EQ(finding_for("study-file", text), "");
  }
}

TEST(HostileFiles, DeepNestingThrows) {
  for (const char* target : {"run-record", "study", "metrics", "model-config", "shard-index", "checkpoint", "config",
                             "study-file", "llama3-file", "documents"}) {
    EXPECT_EQ(finding_for(target, "{\"a\":" + std::string(900'000, '[')), "") << target;
    EXPECT_EQ(finding_for(target, "a = " + std::string(900'000, '[')), "") << target;
  }
}

}  // namespace
}  // namespace lehi::fuzz
