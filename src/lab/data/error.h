// What this room throws when a file can't be used: one sentence that names the file, the place in it and what to do.
// The program turns it into exit code 3, apart from other user errors.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/one_line.h"

namespace lehi::data {

class DataError : public std::invalid_argument {
 public:
  explicit DataError(const std::string& text) : std::invalid_argument(one_line(text)) {}
};

/// Throws DataError with a formatted sentence.
template <class... Args>
[[noreturn]] void refuse_data(fmt::format_string<Args...> text, Args&&... args) {
  throw DataError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace lehi::data
