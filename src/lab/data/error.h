// The exception of this room: a file can't be used. Its message is one sentence that names the file, the place in it
// and what to do. The program exits with code 3 after it, and with code 2 after other user errors.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/one_line.h"

namespace lehi::data {

class DataError : public std::invalid_argument {
 public:
  explicit DataError(const std::string& message) : std::invalid_argument(one_line(message)) {}
};

/// Throws DataError with a formatted message.
template <class... Args>
[[noreturn]] void throw_data_error(fmt::format_string<Args...> format, Args&&... args) {
  throw DataError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace lehi::data
