// IDX files: sizes and magic numbers are validated.
#include "data/idx.h"

#include <gmock/gmock.h>

#include "data/error.h"
#include "data_files/fixture.h"
#include "lehi/runtime.h"
#include "support/support.h"

namespace lehi::data {
namespace {

using lehi::testing::Folder;
using lehi::testing::gzipped;
using lehi::testing::idx;
using lehi::testing::message_of;
using ::testing::HasSubstr;

constexpr std::uint32_t image_magic = 0x0803;
constexpr std::uint32_t label_magic = 0x0801;

class Idx : public ::testing::Test {
 protected:
  std::string error_of(const std::string& bytes, int dimensions) const {
    const auto file = folder_.write("f-ubyte", bytes);
    EXPECT_THROW(read_idx(file, dimensions), DataError);
    const auto message = message_of([&] { read_idx(file, dimensions); });
    EXPECT_THAT(message, HasSubstr("f-ubyte"));
    return message;
  }
  Folder folder_;
};

TEST_F(Idx, ValuesComeInRowOrderPlainAndGzipped) {
  const std::string bytes = idx(image_magic, {2, 1, 3}, std::string("\0\1\2\3\4\xff", 6));
  const auto expected = torch::tensor({0, 1, 2, 3, 4, 255}, torch::kUInt8).view({2, 1, 3});
  EXPECT_TRUE(lehi::testing::same_bits(read_idx(folder_.write("a", bytes), 3), expected));
  EXPECT_TRUE(lehi::testing::same_bits(read_idx(folder_.write("a.gz", gzipped(bytes)), 3), expected));
  EXPECT_TRUE(lehi::testing::same_bits(read_idx(folder_.write("b", idx(label_magic, {3}, "\7\1\2")), 1),
                                       torch::tensor({7, 1, 2}, torch::kUInt8)));
}

TEST_F(Idx, TruncatedFilesThrow) {
  const std::string bytes = idx(image_magic, {2, 2, 2}, "12345678");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(error_of(bytes.substr(0, size), 3), HasSubstr("truncated")) << size;
  }
  EXPECT_THAT(error_of(bytes.substr(0, bytes.size() - 1), 3),
              HasSubstr("declares 2 x 2 x 2 values, but 7 are present"));
}

TEST_F(Idx, OversizedFilesThrow) {
  EXPECT_THAT(error_of(idx(label_magic, {3}, "12345"), 1),
              HasSubstr("too long: its header declares 3 values, but 2 more bytes follow"));
}

TEST_F(Idx, WrongMagicNumbersThrow) {
  EXPECT_THAT(error_of(idx(label_magic, {3}, "123456789"), 3), HasSubstr("magic number 0x00000801, not 0x00000803"));
  EXPECT_THAT(error_of(idx(0x0d01, {3}, "123456789012"), 1), HasSubstr("0x00000d01"));  // floats
  EXPECT_THAT(error_of("x,y\n1,2\n3,4\n5,6\n", 1), HasSubstr("magic number"));
}

TEST_F(Idx, HugeDeclaredSizesAllocateNothing) {
  const std::int64_t before = runtime::peak_resident_bytes();
  EXPECT_THAT(error_of(idx(image_magic, {0xffffffff, 0xffffffff, 0xffffffff}, "1"), 3), HasSubstr("truncated"));
  // A product of sizes that overflows to 0.
  EXPECT_THAT(error_of(idx(image_magic, {0x80000000, 0x80000000, 4}, "1"), 3), HasSubstr("truncated"));
  EXPECT_THAT(error_of(idx(label_magic, {0xf0000000}, "1"), 1), HasSubstr("truncated"));
  EXPECT_LT(runtime::peak_resident_bytes() - before, 64 << 20);
  EXPECT_THAT(error_of(idx(image_magic, {1, 0, 28}, ""), 3), HasSubstr("empty dimension"));
}

}  // namespace
}  // namespace lehi::data
