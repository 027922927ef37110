// Shared by tests of data files: a temporary directory and files in it, plain or compressed by zlib.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/environment.h"

namespace lehi::testing {

/// A new temporary directory, removed by the destructor.
class Folder {
 public:
  Folder() {
    auto name = (std::filesystem::temp_directory_path() / "lehi-data-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create a temporary directory");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder(Folder&&) = delete;
  Folder& operator=(const Folder&) = delete;
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::string string() const { return path_.string(); }

  /// Writes a file, creating its directories, and returns its path.
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    const auto file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream << bytes;
    if (!stream.flush()) throw std::runtime_error("cannot write " + file.string());
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// The data directory for tests of real files: LEHI_SHARED_DATA, else shared/data beside the checkout if it exists,
/// else the user's.
inline std::string shared_data() {
  if (const char* chosen = std::getenv("LEHI_SHARED_DATA")) return chosen;
  const auto beside = std::filesystem::path(LEHI_SOURCE_DIR).parent_path() / "shared/data";
  return std::filesystem::is_directory(beside) ? beside.string() : "";
}

inline std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  all.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

/// The bytes of a gzip file with these contents.
inline std::string gzipped(const std::string& bytes) {
  const Folder folder;
  const auto file = folder.path() / "packed";
  gzFile stream = gzopen(file.c_str(), "wb");
  const bool written =
      gzwrite(stream, bytes.data(), static_cast<unsigned>(bytes.size())) == static_cast<int>(bytes.size());
  if (gzclose(stream) != Z_OK || !written) throw std::runtime_error("cannot compress");
  std::ifstream packed(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(packed), std::istreambuf_iterator<char>()};
}

/// An IDX file: magic number, dimensions, values.
inline std::string idx(std::uint32_t magic, const std::vector<std::uint32_t>& sizes, const std::string& values) {
  std::string bytes;
  const auto put = [&bytes](std::uint32_t word) {
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(word >> shift & 0xff);
  };
  put(magic);
  for (const auto size : sizes) put(size);
  return bytes + values;
}

}  // namespace lehi::testing
