#include "data/buffered_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "data/error.h"

namespace lehi::data {

BufferedFile::BufferedFile(const std::filesystem::path& file)
    : name_(file.string()), file_(std::fopen(file.c_str(), "rb"), &std::fclose) {
  if (!file_) throw_data_error("{} can't be opened: {}", name_, std::strerror(errno));
  struct stat status {};
  if (::fstat(::fileno(file_.get()), &status) == 0 && S_ISREG(status.st_mode)) size_ = status.st_size;
  fill();
}

std::string_view BufferedFile::next() {
  if (begin_ == end_) fill();
  return {buffer_.data() + begin_, end_ - begin_};
}

std::size_t BufferedFile::read(char* to, std::size_t max_bytes) {
  const std::size_t count = std::min(max_bytes, end_ - begin_);
  std::memcpy(to, buffer_.data() + begin_, count);
  skip(count);
  return count > 0 ? count : read_file(to, max_bytes);
}

std::optional<std::uint32_t> BufferedFile::last_number() const {
  std::uint32_t number = 0;
  const auto bytes = static_cast<ssize_t>(sizeof number);
  if (!size_ || *size_ < bytes) return std::nullopt;
  if (::pread(::fileno(file_.get()), &number, sizeof number, *size_ - bytes) != bytes) return std::nullopt;
  return number;
}

void BufferedFile::fill() {
  before_ += static_cast<std::int64_t>(end_);
  begin_ = 0;
  end_ = read_file(buffer_.data(), buffer_.size());
}

std::size_t BufferedFile::read_file(char* to, std::size_t max_bytes) {
  const std::size_t count = std::fread(to, 1, max_bytes, file_.get());
  if (std::ferror(file_.get()) != 0) throw_data_error("{} can't be read: {}", name_, std::strerror(errno));
  return count;
}

}  // namespace lehi::data
