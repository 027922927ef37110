// User errors: one sentence with what is wrong, where, and what was expected.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "runtime/one_line.h"

namespace lehi {

/// Throws std::invalid_argument with the formatted message as one line.
template <class... Args>
[[noreturn]] void throw_invalid_argument(fmt::format_string<Args...> text, Args&&... args) {
  throw std::invalid_argument(one_line(fmt::format(text, std::forward<Args>(args)...)));
}

}  // namespace lehi
