// Makes any string safe to print as one line on a terminal. All error messages pass through this.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lehi {

/// Maximum length of the result of one_line(), in bytes.
inline constexpr std::size_t longest_line = 4000;

/// `text` as one line of UTF-8. Control characters and those that change the text direction become escapes (\n, \x1b,
/// \u202e), bytes that are not valid UTF-8 become U+FFFD, and the middle of a very long text is left out.
std::string one_line(std::string_view text);

}  // namespace lehi
