// A regular file that stays open and is read at any offset. It is not mapped into memory: if another process truncates
// a mapped file, reading it ends this process with SIGBUS; read() throws an exception instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace lehi::text {

class RegularFile {
 public:
  /// Throws DataError when the file can't be opened or is not a regular file.
  explicit RegularFile(std::filesystem::path file);
  RegularFile(const RegularFile&) = delete;
  RegularFile(RegularFile&&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }  ///< at the time of opening

  /// Fills `to` with the bytes from `offset` on. Several threads may call it. Throws DataError if the file ends before.
  void read(std::int64_t offset, std::span<char> to) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// The SHA-256 of the whole file.
std::string digest_of(const RegularFile& file);

}  // namespace lehi::text
