// Text files: plain text and JSON Lines, compressed or not; damaged files.
#include "text/documents.h"

#include <gmock/gmock.h>
#include <zstd.h>

#include "text/fixture.h"

namespace lehi::text {
namespace {

using lehi::testing::Folder;
using lehi::testing::gzipped;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string zstd_packed(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

std::vector<std::string> documents(const std::filesystem::path& file, const TextLimits& limits = {}) {
  std::vector<std::string> list;
  read_documents(
      file, format_of(file), "text", [&](std::string_view document) { list.emplace_back(document); }, limits);
  return list;
}

std::string reading_error(const std::filesystem::path& file, const TextLimits& limits = {}) {
  return message_of([&] { documents(file, limits); });
}

TEST(Documents, FormatFollowsTheName) {
  EXPECT_EQ(format_of("a/b.jsonl"), TextFormat::json_lines);
  EXPECT_EQ(format_of("b.jsonl.gz"), TextFormat::json_lines);
  EXPECT_EQ(format_of("b.ndjson.zst"), TextFormat::json_lines);
  EXPECT_EQ(format_of("b.bin"), TextFormat::shard);
  EXPECT_EQ(format_of("b.txt"), TextFormat::plain);
  EXPECT_EQ(format_of("b.txt.gz"), TextFormat::plain);
  EXPECT_EQ(format_of("jsonl"), TextFormat::plain);
}

TEST(Documents, SameFromPlainGzipAndZstd) {
  const Folder folder;
  const std::string lines =
      "{\"id\": 1, \"text\": \"one \\u00e9\\n\", \"meta\": {\"text\": \"not this\", \"l\": [[1], {}]}}\r\n\n"
      "{\"text\": \"\"}\n  \n{\"text\": \"three \xf0\x9f\x98\x80\", \"x\": null}";
  const auto expected = ElementsAre("one é\n", "", "three 😀");
  EXPECT_THAT(documents(folder.write("a.jsonl", lines)), expected);
  EXPECT_THAT(documents(folder.write("b.jsonl.gz", gzipped(lines))), expected);
  EXPECT_THAT(documents(folder.write("c.jsonl.zst", zstd_packed(lines))), expected);
  EXPECT_THAT(documents(folder.write("d.jsonl", gzipped(lines.substr(0, 10)) + gzipped(lines.substr(10)))), expected);
  EXPECT_THAT(documents(folder.write("e.jsonl", zstd_packed(lines.substr(0, 10)) + zstd_packed(lines.substr(10)))),
              expected);
  EXPECT_THAT(documents(folder.write("f.txt", lines)), ElementsAre(lines));
  EXPECT_THAT(documents(folder.write("g.txt.gz", gzipped(lines))), ElementsAre(lines));
  EXPECT_THAT(documents(folder.write("h.txt", "")), ElementsAre(""));
  EXPECT_THAT(documents(folder.write("i.jsonl", "")), ElementsAre());
}

TEST(Documents, LinesLongerThanTheBuffersAreRead) {
  const Folder folder;
  const std::string text(3'000'001, 'x');
  const std::string lines = "{\"text\": \"" + text + "\"}\n{\"text\": \"" + text + "y\"}\n";
  EXPECT_THAT(documents(folder.write("a.jsonl", lines)), ElementsAre(text, text + "y"));
  EXPECT_THAT(documents(folder.write("a.jsonl.gz", gzipped(lines))), ElementsAre(text, text + "y"));
}

TEST(Documents, BadLinesThrowWithTheirNumber) {
  const Folder folder;
  const auto line = [&folder](const std::string& bytes) {
    return reading_error(folder.write("a.jsonl", "{\"text\":\"\"}\n" + bytes));
  };
  const std::string where = folder.string() + "/a.jsonl, line 2 ";
  EXPECT_THAT(line("{\"text\": "), HasSubstr(where + "is not valid JSON (at byte"));
  EXPECT_THAT(line("{\"text\": \"a\"} x"), HasSubstr(where + "is not valid JSON (at byte"));
  EXPECT_THAT(line("{\"text\": \"\\ud800\"}"), HasSubstr(where + "is not valid JSON"));
  EXPECT_THAT(line("[]"), HasSubstr(where + "is not a JSON object"));
  EXPECT_THAT(line("\"text\""), HasSubstr(where + "is not a JSON object"));
  EXPECT_THAT(line("{\"body\": \"\"}"), HasSubstr(where + "has no field 'text'; choose the field"));
  EXPECT_THAT(line("{\"text\": 1}"), HasSubstr(": the value of field 'text' must be a string"));
  EXPECT_THAT(line("{\"text\": [\"a\"]}"), HasSubstr(": the value of field 'text' must be a string"));
  EXPECT_THAT(line("{\"text\": null}"), HasSubstr("must be a string"));
  EXPECT_THAT(line("{\"text\": \"a\", \"text\": \"b\"}"), HasSubstr("has the field 'text' twice"));
  EXPECT_THAT(line("{\"x\": " + std::string(1'000'000, '[')), HasSubstr("more than 1000 nested levels"));
  EXPECT_THAT(line("{\"text\": \"a\xff\"}"), HasSubstr("0xff at offset 23"));
}

TEST(Documents, DamagedFilesThrowWithTheirName) {
  const Folder folder;
  const std::string packed = gzipped(std::string(100'000, 'a'));
  const std::string frame = zstd_packed(std::string(100'000, 'a') + "end");
  EXPECT_THAT(reading_error(folder.path() / "none.txt"), HasSubstr("none.txt can't be opened"));
  EXPECT_THAT(reading_error(folder.path()), HasSubstr("can't be read"));
  EXPECT_THAT(reading_error(folder.write("a.txt", packed.substr(0, packed.size() - 4))),
              HasSubstr("a.txt is truncated"));
  EXPECT_THAT(reading_error(folder.write("a.txt", frame.substr(0, frame.size() - 4))), HasSubstr("a.txt is truncated"));
  EXPECT_THAT(reading_error(folder.write("a.txt", frame.substr(0, 5))), HasSubstr("a.txt is truncated"));
  EXPECT_THAT(reading_error(folder.write("a.txt", packed.substr(0, 20) + "damage" + packed.substr(26))),
              HasSubstr("a.txt is corrupt gzip"));
  EXPECT_THAT(reading_error(folder.write("a.txt", packed + "stray")), HasSubstr("a.txt has stray bytes"));
  EXPECT_THAT(reading_error(folder.write("a.txt", frame + "stray")), HasSubstr("a.txt is corrupt zstd"));
  EXPECT_THAT(reading_error(folder.write("a.txt", "ab\xc3")), HasSubstr("0xc3 at offset 2"));
  EXPECT_THAT(reading_error(folder.write("a.bin", "")), HasSubstr("is a token shard (.bin); expected text"));
}

// Memory for decompressed data stays within the limit.
TEST(Documents, CompressionBombsThrow) {
  const Folder folder;
  const std::string bytes(50'000'000, 'a');
  for (const std::string& bomb : {gzipped(bytes), zstd_packed(bytes)}) {
    ASSERT_LT(bomb.size(), 100'000U);
    const TextLimits limits{.plain_bytes = 1'000'000, .line_bytes = 2'000'000, .total_bytes = 10'000'000};
    EXPECT_THAT(reading_error(folder.write("a.txt", bomb), limits), HasSubstr("holds more than 1000000 bytes"));
    EXPECT_THAT(reading_error(folder.write("a.jsonl", bomb), limits),
                HasSubstr("a.jsonl, line 1 has more than 2000000 bytes"));
  }
  const std::string empty_lines(20'000'000, '\n');
  const TextLimits limits{.total_bytes = 10'000'000};
  EXPECT_THAT(reading_error(folder.write("a.jsonl", gzipped(empty_lines)), limits),
              HasSubstr("holds more than 10000000 bytes"));
}

}  // namespace
}  // namespace lehi::text
