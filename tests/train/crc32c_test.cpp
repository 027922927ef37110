#include "train/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace lehi::train {
namespace {

TEST(Crc32c, MatchesThePublishedVectors) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);  // the check value of the CRC catalogues
  // RFC 3720, appendix B.4
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(crc32c(std::string(ascending.rbegin(), ascending.rend())), 0x113fdb5cu);
}

TEST(Crc32c, ContinuesFromAnyPointAtAnyAlignment) {
  std::string bytes;
  for (int i = 0; i < 41; ++i) bytes += static_cast<char>(i * 37 + 11);
  const std::string_view whole = bytes;
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    EXPECT_EQ(crc32c(whole.substr(cut), crc32c(whole.substr(0, cut))), crc32c(whole)) << cut;
  }
}

}  // namespace
}  // namespace lehi::train
