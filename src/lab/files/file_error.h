// The error of everything that reads or writes files.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "runtime/one_line.h"

namespace lehi {

/// A file that could not be read or written, or whose contents are damaged. The message is one sentence with its path.
class FileError : public std::runtime_error {
 public:
  explicit FileError(const std::string& text) : std::runtime_error(one_line(text)) {}
  /// "cannot <operation> <path>: <reason>; <what to do>", from the errno of a system call. The path of a temporary file
  /// is shown as the final one.
  FileError(std::string_view operation, const std::filesystem::path& path, int error);
};

}  // namespace lehi
