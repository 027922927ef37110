#include "text/byte_letters.h"

#include <array>

#include "text/utf8.h"

namespace lehi::text {
namespace {

constexpr char32_t first_substitute = 0x100;

bool represents_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

struct Letters {
  std::array<char32_t, 256> letter{};  // by byte
  std::array<int, 512> byte{};         // by letter; -1 if the letter represents no byte
};

Letters make_letters() {
  Letters letters;
  letters.byte.fill(-1);
  char32_t next = first_substitute;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t letter = represents_itself(byte) ? static_cast<char32_t>(byte) : next++;
    letters.letter[static_cast<std::size_t>(byte)] = letter;
    letters.byte[letter] = byte;
  }
  return letters;
}

const Letters& letters_table() {
  static const Letters letters = make_letters();
  return letters;
}

}  // namespace

std::optional<std::string> bytes_of_letters(std::string_view letters) {
  const auto& table = letters_table().byte;
  std::string bytes;
  bytes.reserve(letters.size());
  for (std::size_t at = 0; at < letters.size();) {
    const auto [code, length] = character_at(letters, at);
    if (code >= table.size() || table[code] < 0) return {};
    bytes += static_cast<char>(table[code]);
    at += length;
  }
  return bytes;
}

std::string letters_of_bytes(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) append_utf8(letters, letters_table().letter[static_cast<unsigned char>(byte)]);
  return letters;
}

}  // namespace lehi::text
