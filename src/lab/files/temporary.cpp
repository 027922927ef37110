#include "files/temporary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "files/system_calls.h"

namespace lehi {
namespace fs = std::filesystem;

fs::path temporary_name(const fs::path& path) {
  static std::atomic<unsigned> count{0};
  for (;;) {
    fs::path name = path;
    name += fmt::format(".tmp-{}-{}", ::getpid(), count++);
    struct stat found {};
    if (::lstat(name.c_str(), &found) != 0) return name;
  }
}

bool lock_new_file(int descriptor) {
  uninterrupted([&] { return ::flock(descriptor, LOCK_EX); });
  struct stat found {};
  return ::fstat(descriptor, &found) != 0 || found.st_nlink > 0;
}

TemporaryLock::TemporaryLock(const fs::path& path)
    : descriptor_(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })),
      removed_(descriptor_ < 0 && errno == ENOENT) {}

TemporaryLock::~TemporaryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool TemporaryLock::lock_new() const { return descriptor_ < 0 ? !removed_ : lock_new_file(descriptor_); }

bool TemporaryLock::try_lock() const {
  return descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

}  // namespace lehi
