#include "train/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace lehi::train {
namespace {

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

/// Row r is the effect of a byte that is followed by r more: eight bytes are eight independent look-ups.
constexpr Table make_table() {
  constexpr std::uint32_t kReflectedPolynomial = 0x82f63b78;
  Table table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kReflectedPolynomial : 0);
    table[0][byte] = crc;
  }
  for (std::size_t row = 1; row < table.size(); ++row) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = table[row - 1][byte];
      table[row][byte] = (crc >> 8) ^ table[0][crc & 0xff];
    }
  }
  return table;
}

constexpr Table kTable = make_table();
static_assert(std::endian::native == std::endian::little, "the eight-byte step reads little-endian words");

}  // namespace

std::uint32_t crc32c(std::string_view bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= kTable[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[0][(crc ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~crc;
}

}  // namespace lehi::train
