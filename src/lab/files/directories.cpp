#include "files/directories.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "files/file_error.h"
#include "files/system_calls.h"
#include "files/temporary.h"

namespace lehi {
namespace fs = std::filesystem;

bool make_directories(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return false;
  const auto parent = parent_of(path);
  make_directories(parent);
  const int failed = ::mkdir(path.c_str(), 0777) == 0 ? 0 : errno;
  if (failed != 0 && !fs::is_directory(path, ignored)) throw FileError("create the directory", path, failed);
  try {
    sync_path(parent, true);
  } catch (const FileError&) {
    if (failed == 0) ::rmdir(path.c_str());  // still empty: nothing is left after a failure
    throw;
  }
  return failed == 0;
}

std::vector<std::string> list_directory(const fs::path& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error && error.value() != ENOENT) throw FileError("list", directory, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

void remove_tree(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(path, ignored))) return remove_path(path);
  const auto temporary = temporary_name(path);
  rename_path(path, temporary);
  remove_path(temporary);
}

DirectoryLock::DirectoryLock(const fs::path& directory)
    : descriptor_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw FileError("open", directory, errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
  const int failed = errno;
  ::close(descriptor_);
  if (failed != EWOULDBLOCK) throw FileError("lock", directory, failed);
  throw FileError(fmt::format("{} is in use by another lehi process; wait for its end or choose another directory",
                              directory.string()));
}

DirectoryLock::~DirectoryLock() { ::close(descriptor_); }

}  // namespace lehi
