#include "text/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "data/digest.h"
#include "data/error.h"

namespace lehi::text {

// With O_NONBLOCK, opening a pipe does not wait for a writer.
RegularFile::RegularFile(std::filesystem::path file)
    : path_(std::move(file)), descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    data::throw_data_error("{} can't be opened: {}", path_.string(), std::strerror(error));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    data::throw_data_error("{} is not a regular file", path_.string());
  }
  size_ = status.st_size;
}

RegularFile::~RegularFile() { ::close(descriptor_); }

void RegularFile::read(std::int64_t offset, std::span<char> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) data::throw_data_error("{} can't be read: {}", path_.string(), std::strerror(errno));
    if (count == 0) {
      data::throw_data_error(
          "{} ends at byte {}, but had {} bytes when it was opened; run again when no process writes to it",
          path_.string(), offset, size_);
    }
    offset += count;
    to = to.subspan(static_cast<std::size_t>(count));
  }
}

std::string digest_of(const RegularFile& file) {
  std::vector<char> buffer(std::size_t{1} << 18);
  std::int64_t offset = 0;
  return data::hex_digest("sha256", [&] {
    const auto count = std::min<std::int64_t>(file.size() - offset, static_cast<std::int64_t>(buffer.size()));
    const std::span<char> piece(buffer.data(), static_cast<std::size_t>(count));
    file.read(offset, piece);
    offset += count;
    return std::string_view(piece.data(), piece.size());
  });
}

}  // namespace lehi::text
