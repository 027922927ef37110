#include "files/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <regex>
#include <system_error>
#include <utility>

namespace lehi {
namespace fs = std::filesystem;
namespace {

std::string reason(std::string_view operation, int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "no space is left on that disk; free some or write elsewhere";
    case EACCES:
    case EPERM:
      return "permission denied; change the permissions or choose another place";
    case EROFS:
      return "that file system is read-only; choose another place";
    case EIO:
      return "the disk reported an input/output error; check the disk";
    case EFBIG:
      return "the file would grow larger than the system allows; raise the limit or choose another place";
    case ENOENT:
    case ENOTDIR:
      return operation == "create" ? "its directory does not exist; check the path"
                                   : "it does not exist; check the path";
    case EEXIST:
      return "something else has that name; choose another";
    default:
      return std::generic_category().message(error);
  }
}

/// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

fs::path parent_of(const fs::path& path) {
  const auto parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

/// `path`.tmp-PID-N, not in use; beside `path`, since a rename does not cross file systems.
fs::path aside_name(const fs::path& path) {
  static std::atomic<unsigned> count{0};
  for (;;) {
    fs::path aside = path;
    aside += fmt::format(".tmp-{}-{}", ::getpid(), count++);
    struct stat found {};
    if (::lstat(aside.c_str(), &found) != 0) return aside;
  }
}

/// What is written aside goes by the name that it will have.
std::string name_for_people(const fs::path& path) {
  auto name = path.string();
  if (is_leftover_name(path.filename().string())) name.resize(name.rfind(".tmp-"));
  return name;
}

/// Locks what has just been created; false where remove_leftovers() of another process came between and took it away.
bool lock_aside(int descriptor) {
  uninterrupted([&] { return ::flock(descriptor, LOCK_EX); });
  struct stat found {};
  return ::fstat(descriptor, &found) != 0 || found.st_nlink > 0;
}

/// A lock on a file or directory that is written aside or about to be removed.
class AsideLock {
 public:
  explicit AsideLock(const fs::path& path)
      : descriptor_(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); })),
        gone_(descriptor_ < 0 && errno == ENOENT) {}
  AsideLock(const AsideLock&) = delete;
  AsideLock& operator=(const AsideLock&) = delete;
  ~AsideLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// Of what this process has just created; false where it is gone again.
  bool take_new() const { return descriptor_ < 0 ? !gone_ : lock_aside(descriptor_); }

  /// False where another process has it. Where a file system has no locks, nobody seems to.
  bool take() const { return descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

 private:
  int descriptor_;
  bool gone_;
};

/// Syncs a file or a directory by name.
void sync_path(const fs::path& path, bool directory) {
  const int descriptor = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  if (descriptor < 0) throw FileError("open", path, errno);
  const int failed = uninterrupted([&] { return ::fsync(descriptor); }) == 0 ? 0 : errno;
  ::close(descriptor);
  // Some network file systems cannot sync a directory, and say so with EINVAL.
  if (failed != 0 && !(directory && failed == EINVAL)) throw FileError("sync", path, failed);
}

void sync_tree(const fs::path& directory) {
  for (const auto& name : list_directory(directory)) {
    const auto path = directory / name;
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      sync_tree(path);
    } else {
      sync_path(path, false);
    }
  }
  sync_path(directory, true);
}

void rename_path(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw FileError(fmt::format("rename {} to", from.string()), to, errno);
}

void remove_path(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw FileError("remove", path, error.value());
}

/// Puts the new directory in the old one's place in one step, and removes the old one.
void replace_directory(const fs::path& aside, const fs::path& path) {
  if (::rename(aside.c_str(), path.c_str()) == 0) return;
  if (errno != ENOTEMPTY && errno != EEXIST) throw FileError("rename a finished directory to", path, errno);
  if (::renameat2(AT_FDCWD, aside.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return remove_path(aside);
  // A file system without exchange: the name is free for a moment.
  const auto old = aside_name(path);
  rename_path(path, old);
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    const FileError failure("rename a finished directory to", path, errno);
    rename_path(old, path);
    throw failure;
  }
  remove_path(old);
}

}  // namespace

FileError::FileError(std::string_view operation, const fs::path& path, int error)
    : FileError(fmt::format("cannot {} {}: {}", operation, name_for_people(path), reason(operation, error))) {}

OutputFile::OutputFile(fs::path path, Mode mode) : path_(std::move(path)) {
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
      const FileError failure("write", path_, errno);
      // Best effort: where even this fails, readers drop the torn end.
      [[maybe_unused]] const int cut = ::ftruncate(descriptor_, static_cast<off_t>(size_));
      throw failure;
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
  // Never repeated after EINTR: Linux has closed the descriptor even then.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) throw FileError("close", path_, errno);
}

PendingFile::PendingFile(fs::path path) : path_(std::move(path)), file_(aside_name(path_), OutputFile::Mode::create) {
  while (!lock_aside(file_.descriptor_)) file_ = OutputFile(aside_name(path_), OutputFile::Mode::create);
}

PendingFile::~PendingFile() {
  if (!published_) ::unlink(file_.path().c_str());
}

void PendingFile::publish() {
  file_.sync();
  file_.close();
  rename_path(file_.path(), path_);
  published_ = true;
  sync_path(parent_of(path_), true);
}

InputFile::InputFile(fs::path path) : path_(std::move(path)) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  descriptor_ = uninterrupted([&] { return ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
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

std::string read_text(const fs::path& path, std::uint64_t limit) {
  InputFile file(path);
  if (file.size() > limit) {
    throw FileError(fmt::format("{} has {} bytes, expected at most {}", path.string(), file.size(), limit));
  }
  std::string text(file.size(), '\0');
  file.read(text.data(), text.size());
  return text;
}

void publish_file(const fs::path& path, const std::function<void(OutputFile&)>& fill) {
  PendingFile pending(path);
  fill(pending.file());
  pending.publish();
}

void publish_text(const fs::path& path, std::string_view text) {
  publish_file(path, [&](OutputFile& file) { file.write(text); });
}

void publish_existing(const fs::path& from, const fs::path& path) {
  sync_path(from, false);
  rename_path(from, path);
  sync_path(parent_of(path), true);
}

void publish_directory(const fs::path& path, const std::function<void(const fs::path&)>& fill) {
  fs::path aside;
  std::optional<AsideLock> lock;
  do {
    aside = aside_name(path);
    if (::mkdir(aside.c_str(), 0777) != 0) throw FileError("create", aside, errno);
    lock.emplace(aside);
  } while (!lock->take_new());
  try {
    fill(aside);
    sync_tree(aside);
    replace_directory(aside, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    throw;
  }
  sync_path(parent_of(path), true);
}

void remove_tree(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(path, ignored))) return remove_path(path);
  const auto aside = aside_name(path);
  rename_path(path, aside);
  remove_path(aside);
}

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
    if (failed == 0) ::rmdir(path.c_str());  // while it is empty: a failure leaves nothing behind
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

bool is_leftover_name(const std::string& name) {
  static const std::regex pattern(R"(.+\.tmp-\d+-\d+)");
  return std::regex_match(name, pattern);
}

namespace {

/// Of the names that begin with `start`.
int remove_leftovers(const fs::path& directory, const std::string& start) {
  int count = 0;
  for (const auto& name : list_directory(directory)) {
    if (!name.starts_with(start) || !is_leftover_name(name)) continue;
    const AsideLock lock(directory / name);
    if (!lock.take()) continue;
    remove_path(directory / name);  // under the lock: who has just created it notices
    ++count;
  }
  return count;
}

}  // namespace

int remove_leftovers(const fs::path& directory) { return remove_leftovers(directory, ""); }

int remove_leftovers_of(const fs::path& path) {
  return remove_leftovers(parent_of(path), path.filename().string() + ".tmp-");
}

}  // namespace lehi
