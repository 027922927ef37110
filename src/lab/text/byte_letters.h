// How byte-level vocabularies write bytes: each as a printable character of its own, so that a token is a JSON string
// or a word between spaces. Printable Latin-1 stands for itself, the other 68 bytes for U+0100 onwards, in order.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lehi::text {

/// The bytes that a token's letters stand for; nothing when one of its characters stands for none. Valid UTF-8 only.
std::optional<std::string> bytes_of_letters(std::string_view letters);

/// The letters of bytes.
std::string letters_of_bytes(std::string_view bytes);

}  // namespace lehi::text
