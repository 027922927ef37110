// Text for a terminal, whatever a file or a name holds: every error's sentence goes through this.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lehi {

/// The longest that one_line() leaves, in bytes.
inline constexpr std::size_t longest_line = 4000;

/// The text as one line of UTF-8: control characters and those that reorder what is around them are written as escapes
/// (\n, \x1b, \u202e), a byte that is no UTF-8 becomes U+FFFD, and of a very long text the middle is left out.
std::string one_line(std::string_view text);

}  // namespace lehi
