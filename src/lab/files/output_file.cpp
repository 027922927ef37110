#include "files/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "files/file_error.h"
#include "files/system_calls.h"

namespace lehi {

OutputFile::OutputFile(std::filesystem::path path, Mode mode) : path_(std::move(path)) {
  const int flags = O_WRONLY | O_CLOEXEC | O_CREAT | (mode == Mode::create ? O_EXCL : O_APPEND);
  descriptor_ = uninterrupted([&] { return ::open(path_.c_str(), flags, 0666); });
  if (descriptor_ < 0) throw FileError(mode == Mode::create ? "create" : "open", path_, errno);
  struct stat found {};
  if (::fstat(descriptor_, &found) == 0) size_ = static_cast<std::uint64_t>(found.st_size);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::string_view bytes) {
  auto left = bytes;
  while (!left.empty()) {
    const auto written = uninterrupted([&] { return ::write(descriptor_, left.data(), left.size()); });
    if (written < 0) {
      const int error = errno;
      // Best effort: readers drop an incomplete end if this fails too.
      [[maybe_unused]] const int cut = ::ftruncate(descriptor_, static_cast<off_t>(size_));
      throw FileError("write", path_, error);
    }
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += bytes.size();
}

void OutputFile::write_at(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written =
        uninterrupted([&] { return ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (written < 0) throw FileError("write", path_, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void OutputFile::sync() {
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) throw FileError("sync", path_, errno);
}

void OutputFile::close() {
  // Not repeated after EINTR: Linux has closed the descriptor even then.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) throw FileError("close", path_, errno);
}

}  // namespace lehi
