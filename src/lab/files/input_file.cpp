#include "files/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "files/file_error.h"
#include "files/system_calls.h"

namespace lehi {

// Without O_NONBLOCK, opening a pipe would wait for a writer.
InputFile::InputFile(std::filesystem::path path)
    : path_(std::move(path)),
      descriptor_(uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })) {
  if (descriptor_ < 0) throw FileError("open", path_, errno);
  struct stat found {};
  const int failed = ::fstat(descriptor_, &found) == 0 ? 0 : errno;
  if (failed != 0 || !S_ISREG(found.st_mode)) {
    ::close(descriptor_);
    if (failed != 0) throw FileError("read", path_, failed);
    throw FileError(fmt::format("cannot read {}: it is not a regular file", path_.string()));
  }
  size_ = static_cast<std::uint64_t>(found.st_size);
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read(void* to, std::size_t bytes) {
  read_at(position_, to, bytes);
  position_ += bytes;
}

void InputFile::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const auto count = uninterrupted([&] { return ::pread(descriptor_, at, bytes, static_cast<off_t>(offset)); });
    if (count < 0) throw FileError("read", path_, errno);
    if (count == 0)
      throw FileError(fmt::format("{} ended {} bytes too early while it was read", path_.string(), bytes));
    at += count;
    bytes -= static_cast<std::size_t>(count);
    offset += static_cast<std::uint64_t>(count);
  }
}

std::string read_text(const std::filesystem::path& path, std::uint64_t limit) {
  InputFile file(path);
  if (file.size() > limit) {
    throw FileError(fmt::format("{} has {} bytes, expected at most {}", path.string(), file.size(), limit));
  }
  std::string text(file.size(), '\0');
  file.read(text.data(), text.size());
  return text;
}

}  // namespace lehi
