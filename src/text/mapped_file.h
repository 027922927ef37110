// A regular file in memory as the system pages it in, read-only, until the object ends.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace lehi::text {

class MappedFile {
 public:
  /// Throws DataError when the file can't be opened or is not a regular one.
  explicit MappedFile(const std::filesystem::path& file);
  MappedFile(const MappedFile&) = delete;
  MappedFile(MappedFile&&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace lehi::text
