// read_bytes() of plain and gzip files; digests.
#include "data/bytes.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "data/digest.h"
#include "data/error.h"
#include "data_files/fixture.h"
#include "support/support.h"

namespace lehi::data {
namespace {

using lehi::testing::Folder;
using lehi::testing::gzipped;
using lehi::testing::message_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Digest, MatchesPublishedVectors) {  // FIPS 180-2 and RFC 1321
  EXPECT_EQ(hex_digest("sha256", "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_digest("sha256", ""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_digest("md5", "message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_THROW(hex_digest("sha-none", ""), std::runtime_error);
}

TEST(ReadBytes, PlainFileComesBackUnchanged) {
  const Folder folder;
  std::string bytes(3'000'000, '\0');  // more than one chunk, and not a whole number of them
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * i >> 3);
  EXPECT_EQ(read_bytes(folder.write("a", bytes)), bytes);
  EXPECT_EQ(read_bytes(folder.write("empty", "")), "");
}

TEST(ReadBytes, GzipIsRecognisedByItsMagicNumberAndNotItsName) {
  const Folder folder;
  std::string bytes;
  for (int i = 0; i < 500'000; ++i) bytes += std::to_string(i);
  EXPECT_EQ(read_bytes(folder.write("a", gzipped(bytes))), bytes);
  EXPECT_EQ(read_bytes(folder.write("b.gz", "plain")), "plain");
}

TEST(ReadBytes, ReadsWhatGzipItselfWrote) {  // printf lehi | gzip -n
  const Folder folder;
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x49\xcd\xc8\x04\x00\x3f\xa6\xe2\x87\x04\x00\x00\x00", 24);
  EXPECT_EQ(read_bytes(folder.write("a.gz", packed)), "lehi");
}

TEST(ReadBytes, JoinsGzipMembers) {
  const Folder folder;
  EXPECT_EQ(read_bytes(folder.write("a.gz", gzipped("one, ") + gzipped("two"))), "one, two");
}

TEST(ReadBytes, LimitCountsDecompressedBytes) {
  const Folder folder;
  const auto plain = folder.write("plain", std::string(100, 'x'));
  const auto packed = folder.write("packed.gz", gzipped(std::string(100, 'x')));
  const auto bomb = folder.write("bomb.gz", gzipped(std::string(50'000'000, 'x')));
  EXPECT_EQ(read_bytes(plain, 100).size(), 100U);
  EXPECT_EQ(read_bytes(packed, 100).size(), 100U);
  for (const auto& file : {plain, packed}) {
    EXPECT_THAT(message_of([&] { read_bytes(file, 99); }),
                AllOf(HasSubstr(file.string()), HasSubstr("more than 99 bytes")));
  }
  EXPECT_THAT(message_of([&] { read_bytes(bomb, 1'000'000); }), HasSubstr("more than 1000000 bytes"));
}

TEST(ReadBytes, MissingFileAndDirectoryThrowWithTheirName) {
  const Folder folder;
  EXPECT_THAT(message_of([&] { read_bytes(folder.path() / "none"); }),
              AllOf(HasSubstr("none can't be opened"), HasSubstr("No such file")));
  EXPECT_THAT(message_of([&] { read_bytes(folder.path()); }),
              AllOf(HasSubstr(folder.string()), HasSubstr("directory")));
  EXPECT_THROW(read_bytes(folder.path() / "none"), DataError);
}

TEST(ReadBytes, GzipTruncatedAnywhereThrows) {
  const Folder folder;
  const std::string packed = gzipped("some text that is long enough to have a body, some text");
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const auto file = folder.write("a.gz", packed.substr(0, size));
    EXPECT_THAT(message_of([&] { read_bytes(file); }), AllOf(HasSubstr("a.gz is truncated"))) << size;
  }
}

TEST(ReadBytes, DamagedGzipThrows) {
  const Folder folder;
  std::string packed = gzipped("some text that is long enough to have a body, some text");
  EXPECT_THAT(message_of([&] { read_bytes(folder.write("a.gz", packed + "xyz")); }),
              HasSubstr("stray bytes after its gzip data"));
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);  // in the checksum
  EXPECT_THAT(message_of([&] { read_bytes(folder.write("a.gz", packed)); }), HasSubstr("a.gz is corrupt gzip"));
}

}  // namespace
}  // namespace lehi::data
