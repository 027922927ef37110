// How byte-level vocabularies write bytes: each byte as one printable character, so that a token can be a JSON string
// or a word between spaces. Printable Latin-1 characters represent themselves; the other 68 bytes are U+0100 onwards,
// in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lehi::text {

/// The bytes that these characters represent; nothing if one of them represents no byte. `letters` must be valid UTF-8.
std::optional<std::string> bytes_of_letters(std::string_view letters);

/// The characters that represent these bytes.
std::string letters_of_bytes(std::string_view bytes);

}  // namespace lehi::text
