#include "text/utf8.h"

#include <cstdint>
#include <cstring>

#include "data/error.h"

namespace lehi::text {
namespace {

// The length of the character that starts at `at`; 0 if no valid one does. The range of the second byte excludes
// overlong forms (after e0, f0), surrogates (after ed) and code points above U+10FFFF (after f4).
std::size_t valid_length(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[at + i]); };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length <= 1) return length;
  if (bytes.size() - at < length) return 0;
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return length;
}

}  // namespace

std::size_t first_invalid_utf8(std::string_view bytes) {
  constexpr std::uint64_t high_bits = 0x8080808080808080;
  for (std::size_t at = 0; at < bytes.size();) {
    std::uint64_t eight = 0;
    if (bytes.size() - at >= sizeof eight) {
      std::memcpy(&eight, bytes.data() + at, sizeof eight);
      if ((eight & high_bits) == 0) {
        at += sizeof eight;
        continue;
      }
    }
    const std::size_t length = valid_length(bytes, at);
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

void require_utf8(std::string_view bytes, const std::string& what, std::size_t base) {
  const std::size_t offset = first_invalid_utf8(bytes);
  if (offset == std::string_view::npos) return;
  data::throw_data_error(
      "{} is not UTF-8: no valid character starts with the byte 0x{:02x} at offset {}; convert it to UTF-8 first", what,
      static_cast<unsigned char>(bytes[offset]), base + offset);
}

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace lehi::text
