// A regular file that stays open and is read wherever one asks. Not mapped into memory: a mapped file that somebody
// cuts short kills the process (SIGBUS) where this throws a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace lehi::text {

class RegularFile {
 public:
  /// Throws DataError when the file can't be opened or is not a regular one.
  explicit RegularFile(std::filesystem::path file);
  RegularFile(const RegularFile&) = delete;
  RegularFile(RegularFile&&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  const std::filesystem::path& path() const { return path_; }
  std::int64_t size() const { return size_; }  ///< when it was opened

  /// Fills `to` with the bytes from `offset` on; threads may share it. Throws DataError where the file ends before.
  void read(std::int64_t offset, std::span<char> to) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
};

/// The SHA-256 of all of it.
std::string digest_of(const RegularFile& file);

}  // namespace lehi::text
