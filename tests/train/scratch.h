// Temporary directories, reading and writing whole files, and damaging them.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>

#include "files/files.h"

namespace lehi::testing {

/// A new directory below the system's directory for temporary files; removed by the destructor.
class Scratch {
 public:
  Scratch() {
    auto name = (std::filesystem::temp_directory_path() / "lehi-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a temporary directory");
    path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch(Scratch&&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.insert(entry.path().filename());
    return names;
  }

 private:
  std::filesystem::path path_;
};

/// The contents of a file.
inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot open " + path.string());
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Writes a file.
inline void spill(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::remove(path);  // faster with a new file: ext4 flushes a truncated one at every close
  std::ofstream stream(path, std::ios::binary);
  stream << bytes;
  if (!stream.flush()) throw std::runtime_error("cannot write " + path.string());
}

/// Calls `read` with `path` truncated to every length: each must throw a FileError that names the file.
inline void expect_every_truncation_throws(const std::filesystem::path& path, const std::function<void()>& read) {
  const auto whole = slurp(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    spill(path, whole.substr(0, size));
    try {
      read();
      ADD_FAILURE() << path << " truncated to " << size << " of " << whole.size() << " bytes was accepted";
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    }
  }
  spill(path, whole);
}

/// Calls `read` with each byte of `path` changed in several ways: it must return or throw a FileError.
inline void expect_no_changed_byte_crashes(const std::filesystem::path& path, const std::function<void()>& read) {
  const auto whole = slurp(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int mask : {0x01, 0x10, 0x80, 0xff}) {
      auto changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ mask);
      spill(path, changed);
      try {
        read();
      } catch (const FileError& error) {
        EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
      }
    }
  }
  spill(path, whole);
}

}  // namespace lehi::testing
