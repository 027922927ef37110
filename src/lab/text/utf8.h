// Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lehi::text {

/// The offset of the first byte that does not start a valid character; npos for valid UTF-8.
std::size_t first_invalid_utf8(std::string_view bytes);

/// Throws DataError if `bytes` is not UTF-8. The message starts with `what` and has the offending byte and its offset
/// plus `base`.
void require_utf8(std::string_view bytes, const std::string& what, std::size_t base = 0);

struct Character {
  char32_t code;
  std::size_t length;  ///< in bytes
};

/// The character at `offset` of a valid UTF-8 text.
inline Character character_at(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[offset + i])); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xe0) return {(first & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (first < 0xf0) return {(first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

/// Appends a character.
void append_utf8(std::string& text, char32_t code);

}  // namespace lehi::text
