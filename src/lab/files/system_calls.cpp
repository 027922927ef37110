#include "files/system_calls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "files/file_error.h"

namespace lehi {
namespace fs = std::filesystem;

fs::path parent_of(const fs::path& path) {
  const auto parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

void sync_path(const fs::path& path, bool directory) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor < 0) throw FileError("open", path, errno);
  const int failed = uninterrupted([&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some network file systems cannot sync a directory and return EINVAL.
  if (failed != 0 && !(directory && failed == EINVAL)) throw FileError("sync", path, failed);
}

void rename_path(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw FileError(fmt::format("rename {} to", from.string()), to, errno);
}

void remove_path(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw FileError("remove", path, error.value());
}

}  // namespace lehi
