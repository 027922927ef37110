#include "runtime/one_line.h"

#include <fmt/format.h>

#include <array>

namespace lehi {
namespace {

struct Decoded {
  char32_t code;
  std::size_t length;  // 0: not valid UTF-8
};

// Strict UTF-8: rejects overlong forms, surrogates and code points above U+10FFFF.
Decoded decode(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < length) return {0, 0};
  char32_t code = first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xc0U) != 0x80) return {0, 0};
    code = code << 6 | (byte & 0x3fU);
  }
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {0, 0};
  return {code, length};
}

// C1 controls, line and paragraph separators, and characters that change the text direction.
bool must_escape(char32_t code) {
  return (code >= 0x80 && code < 0xa0) || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

void append_escaped(std::string& line, char32_t code) {
  if (code == '\n') {
    line += "\\n";
  } else if (code == '\r') {
    line += "\\r";
  } else if (code == '\t') {
    line += "\\t";
  } else if (code < 0x80) {
    line += fmt::format("\\x{:02x}", static_cast<unsigned>(code));
  } else {
    line += fmt::format("\\u{:04x}", static_cast<unsigned>(code));
  }
}

std::string printable(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, length] = decode(text, at);
    if (length == 0) {
      line += "\xef\xbf\xbd";
    } else if (code < 0x20 || code == 0x7f || must_escape(code)) {
      append_escaped(line, code);
    } else {
      line += text.substr(at, length);
    }
    at += length == 0 ? 1 : length;
  }
  return line;
}

bool inside_character(const std::string& line, std::size_t at) {
  return (static_cast<unsigned char>(line[at]) & 0xc0U) == 0x80;
}

}  // namespace

std::string one_line(std::string_view text) {
  constexpr std::size_t front = 2500;
  constexpr std::size_t back = 1000;
  constexpr std::string_view gap = " ... ";
  static_assert(front + back + gap.size() <= longest_line);
  // Only the two ends of a very long text are escaped, since its middle is left out anyway.
  std::string line = text.size() <= 2 * longest_line
                         ? printable(text)
                         : printable(text.substr(0, longest_line)) + printable(text.substr(text.size() - longest_line));
  if (text.size() <= 2 * longest_line && line.size() <= longest_line) return line;
  std::size_t begin = front;
  while (inside_character(line, begin)) --begin;
  std::size_t end = line.size() - back;
  while (inside_character(line, end)) ++end;
  return line.substr(0, begin).append(gap).append(line.substr(end));
}

}  // namespace lehi
