// A file that is read from its beginning to its end, with a view of the bytes that come next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::data {

class BufferedFile {
 public:
  /// Throws DataError when the file can't be opened or read, as do the functions below.
  explicit BufferedFile(const std::filesystem::path& file);

  const std::string& name() const { return name_; }

  /// The file's size; nothing for a pipe.
  std::optional<std::int64_t> size() const { return size_; }

  /// The number of bytes that were read or skipped so far.
  std::int64_t position() const { return before_ + static_cast<std::int64_t>(begin_); }

  /// Unread bytes; empty at the end of the file only.
  std::string_view next();
  /// At most the size of next().
  void skip(std::size_t bytes) { begin_ += bytes; }

  /// Reads up to `max_bytes` into `to` and returns their number; 0 at the end of the file only.
  std::size_t read(char* to, std::size_t max_bytes);

  /// The last four bytes of a file with a size, as a little-endian number.
  std::optional<std::uint32_t> last_number() const;

 private:
  void fill();
  std::size_t read_file(char* to, std::size_t max_bytes);

  std::string name_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 17);
  std::optional<std::int64_t> size_;
  std::int64_t before_ = 0;  // bytes of the file before the buffer
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace lehi::data
