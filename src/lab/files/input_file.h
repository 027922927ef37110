// Reading files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace lehi {

/// A regular file that is open for reading.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  InputFile(const InputFile&) = delete;
  InputFile(InputFile&&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Reads exactly `bytes` bytes, starting where the last call ended. FileError if the file ends before.
  void read(void* to, std::size_t bytes);
  /// The same from `offset`; does not move the position of read().
  void read_at(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

/// The whole file. FileError if it has more than `limit` bytes; the size is checked before anything is allocated.
std::string read_text(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace lehi
