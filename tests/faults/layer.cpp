// See layer.h. Uses system calls only, without allocations and locks, so that it is safe in any context.
#include "faults/layer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lehi::faults {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the system calls below have no other state
Control* control = nullptr;
ExecHook exec_hook = nullptr;
constexpr int most_descriptors = 4096;
enum Watch : unsigned char { unwatched, read_only, written };
Watch watched[most_descriptors] = {};
thread_local bool next_write_fails = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

enum class Outcome { go, fail, half_then_fail, kill_after };
enum class Need { space, nothing };

bool is_below(const char* path) {
  if (control == nullptr || path == nullptr) return false;
  const auto length = std::strlen(control->directory);
  return length > 0 && std::strncmp(path, control->directory, length) == 0 &&
         (path[length] == '/' || path[length] == '\0');
}

Watch watch_of(int descriptor) {
  return control != nullptr && descriptor >= 0 && descriptor < most_descriptors ? watched[descriptor] : unwatched;
}

/// A path below an open directory that is watched, or an absolute one.
bool is_below_at(int directory, const char* path) {
  if (path != nullptr && path[0] == '/') return is_below(path);
  return directory != AT_FDCWD && watch_of(directory) != unwatched;
}

void record_operation(const char* operation, const char* path) {
  if (control == nullptr || control->tracing == 0) return;
  char line[2048];
  int size = std::snprintf(line, sizeof line, "%s %s\n", operation, path == nullptr ? "?" : path);
  size = std::min<int>(size, sizeof line - 1);
  const auto begin = control->trace_size.fetch_add(size);
  if (begin + size <= static_cast<std::int64_t>(Control::trace_bytes)) std::memcpy(control->trace + begin, line, size);
}

void record_operation(const char* operation, int descriptor) {
  if (control == nullptr || control->tracing == 0) return;
  char link[64];
  char path[1500] = {};
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const auto size = ::syscall(SYS_readlink, link, path, sizeof path - 1);
  record_operation(operation, size > 0 ? path : nullptr);
}

[[noreturn]] void kill_process() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

/// Counts an operation and decides its outcome; sets errno if it fails.
Outcome next_outcome(Need need, bool is_write = false) {
  const auto number = control->count.fetch_add(1) + 1;
  if (is_write && next_write_fails) {
    next_write_fails = false;
    errno = ENOSPC;
    return Outcome::fail;
  }
  const bool now = number == control->at;
  const bool since = control->at > 0 && number >= control->at;
  const auto fail_with = [&](int error) {
    control->struck.fetch_add(1);
    errno = error;
    return Outcome::fail;
  };
  switch (control->kind) {
    case Kind::none:
      break;
    case Kind::enospc:
      if (now) return fail_with(ENOSPC);
      break;
    case Kind::eio:
      if (now) return fail_with(EIO);
      break;
    case Kind::short_write:
      if (!now) break;
      fail_with(EIO);
      if (!is_write) return Outcome::fail;
      next_write_fails = true;
      return Outcome::half_then_fail;
    case Kind::full:
      if (since && need == Need::space) return fail_with(ENOSPC);
      break;
    case Kind::broken:
      if (since) return fail_with(EIO);
      break;
    case Kind::kill:
      if (!now) break;
      fail_with(0);
      kill_process();
    case Kind::kill_inside:
      if (!now) break;
      fail_with(0);
      return Outcome::kill_after;
  }
  return Outcome::go;
}

/// An operation that is either executed or fails.
template <class Call>
auto with_fault(Need need, Call call) -> decltype(call()) {
  const Outcome outcome = next_outcome(need);
  if (outcome == Outcome::fail) return -1;
  const auto result = call();
  if (outcome == Outcome::kill_after) kill_process();
  return result;
}

template <class Call>
ssize_t write_with_fault(std::size_t size, Call call) {
  const Outcome outcome = next_outcome(Need::space, true);
  if (outcome == Outcome::fail) return -1;
  if (outcome == Outcome::go) return call(size);
  const auto result = call(size / 2);
  if (outcome == Outcome::kill_after) kill_process();
  return result;
}

int opened(int directory, const char* path, int flags, mode_t mode) {
  const bool writes = (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0;
  const auto call = [&] { return static_cast<int>(::syscall(SYS_openat, directory, path, flags, mode)); };
  if (!is_below_at(directory, path)) {
    if (writes && control != nullptr && path != nullptr && std::strncmp(path, "/dev/", 5) != 0 &&
        std::strncmp(path, "/proc/", 6) != 0) {
      record_operation("outside", path);
    }
    const int descriptor = call();
    if (descriptor >= 0 && descriptor < most_descriptors) watched[descriptor] = unwatched;
    return descriptor;
  }
  if (writes) record_operation("open", path);
  const int descriptor = writes ? with_fault(Need::space, call) : call();
  if (descriptor >= 0 && descriptor < most_descriptors) watched[descriptor] = writes ? written : read_only;
  return descriptor;
}

int renamed(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) {
  const auto call = [&] {
    return static_cast<int>(::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
  };
  if (!is_below_at(from_directory, from) && !is_below_at(to_directory, to)) return call();
  record_operation("rename-from", from);
  record_operation("rename", to);
  if ((flags & RENAME_EXCHANGE) != 0 && control->no_exchange != 0) {
    errno = EINVAL;
    return -1;
  }
  return with_fault(Need::space, call);
}

int removed(int directory, const char* path, int flags) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_unlinkat, directory, path, flags)); };
  if (!is_below_at(directory, path)) return call();
  record_operation("remove", path);
  return with_fault(Need::nothing, call);
}

int synced(int descriptor, long number) {
  if (watch_of(descriptor) == unwatched) return static_cast<int>(::syscall(number, descriptor));
  record_operation("sync", descriptor);
  return with_fault(Need::space,
                    [&] { return control->keep_syncs != 0 ? static_cast<int>(::syscall(number, descriptor)) : 0; });
}

int truncated(int descriptor, off_t size) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_ftruncate, descriptor, size)); };
  return watch_of(descriptor) == unwatched ? call() : with_fault(Need::nothing, call);
}

int made(int directory, const char* path, mode_t mode) {
  const auto call = [&] { return static_cast<int>(::syscall(SYS_mkdirat, directory, path, mode)); };
  if (!is_below_at(directory, path)) return call();
  record_operation("mkdir", path);
  return with_fault(Need::space, call);
}

std::FILE* stream(const char* name, const char* path, const char* mode) {
  using Open = std::FILE* (*)(const char*, const char*);
  const bool writes = std::strpbrk(mode, "wa+") != nullptr;
  if (writes) record_operation(is_below(path) ? "stream" : "outside", path);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym is for
  return reinterpret_cast<Open>(::dlsym(RTLD_NEXT, name))(path, mode);
}

mode_t mode_argument(int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(arguments, mode_t) : 0;
}

/// With LD_PRELOAD: attaches the control file that the environment names.
[[gnu::constructor]] void attach_by_environment() {
  const char* file = std::getenv("LEHI_FAULTS");
  if (file == nullptr) return;
  const auto descriptor = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0));
  if (descriptor < 0) return;
  void* place = ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::syscall(SYS_close, descriptor);
  if (place != MAP_FAILED) control = static_cast<Control*>(place);
}

}  // namespace

void attach(Control* shared) { control = shared; }
void set_exec_hook(ExecHook hook) { exec_hook = hook; }

}  // namespace lehi::faults

// The system calls. glibc's own functions do not call these, so stdio's streams are recorded when they are opened.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,cert-dcl50-cpp)
namespace faults = lehi::faults;
extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = faults::mode_argument(flags, arguments);
  va_end(arguments);
  return faults::opened(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = faults::mode_argument(flags, arguments);
  va_end(arguments);
  return faults::opened(AT_FDCWD, path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = faults::mode_argument(flags, arguments);
  va_end(arguments);
  return faults::opened(directory, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const auto mode = faults::mode_argument(flags, arguments);
  va_end(arguments);
  return faults::opened(directory, path, flags, mode);
}

std::FILE* fopen(const char* path, const char* mode) { return faults::stream("fopen", path, mode); }
std::FILE* fopen64(const char* path, const char* mode) { return faults::stream("fopen64", path, mode); }

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const auto call = [&](size_t part) { return ::syscall(SYS_write, descriptor, bytes, part); };
  if (faults::watch_of(descriptor) == faults::unwatched) return call(size);
  faults::record_operation("write", descriptor);
  return faults::write_with_fault(size, call);
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  if (faults::watch_of(descriptor) == faults::unwatched) return ::syscall(SYS_writev, descriptor, parts, count);
  faults::record_operation("write", descriptor);
  return faults::write_with_fault(0, [&](size_t) { return ::syscall(SYS_writev, descriptor, parts, count); });
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  const auto call = [&](size_t part) { return ::syscall(SYS_pwrite64, descriptor, bytes, part, offset); };
  if (faults::watch_of(descriptor) == faults::unwatched) return call(size);
  faults::record_operation("write", descriptor);
  return faults::write_with_fault(size, call);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  return ::pwrite(descriptor, bytes, size, offset);
}

int close(int descriptor) {
  const auto watch = faults::watch_of(descriptor);
  if (descriptor >= 0 && descriptor < faults::most_descriptors) faults::watched[descriptor] = faults::unwatched;
  if (watch != faults::written) return static_cast<int>(::syscall(SYS_close, descriptor));
  faults::record_operation("close", descriptor);
  // The descriptor is closed even if close() fails.
  const auto outcome = faults::next_outcome(faults::Need::space);
  const int error = errno;
  const auto result = static_cast<int>(::syscall(SYS_close, descriptor));
  if (outcome == faults::Outcome::kill_after) faults::kill_process();
  if (outcome == faults::Outcome::go) return result;
  errno = error;
  return -1;
}

int fsync(int descriptor) { return faults::synced(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return faults::synced(descriptor, SYS_fdatasync); }
int ftruncate(int descriptor, off_t size) noexcept { return faults::truncated(descriptor, size); }
int ftruncate64(int descriptor, off64_t size) noexcept { return faults::truncated(descriptor, size); }

int rename(const char* from, const char* to) noexcept { return faults::renamed(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return faults::renamed(from_directory, from, to_directory, to, 0);
}
int renameat2(int from_directory, const char* from, int to_directory, const char* to, unsigned flags) noexcept {
  return faults::renamed(from_directory, from, to_directory, to, flags);
}

int mkdir(const char* path, mode_t mode) noexcept { return faults::made(AT_FDCWD, path, mode); }
int mkdirat(int directory, const char* path, mode_t mode) noexcept { return faults::made(directory, path, mode); }
int unlink(const char* path) noexcept { return faults::removed(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return faults::removed(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int directory, const char* path, int flags) noexcept { return faults::removed(directory, path, flags); }
int remove(const char* path) noexcept {
  const int result = faults::removed(AT_FDCWD, path, 0);
  return result != 0 && errno == EISDIR ? faults::removed(AT_FDCWD, path, AT_REMOVEDIR) : result;
}

int execve(const char* path, char* const arguments[], char* const environment[]) noexcept {
  if (faults::exec_hook != nullptr && std::strcmp(path, "/proc/self/exe") == 0) {
    faults::exec_hook(const_cast<char**>(arguments));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  }
  return static_cast<int>(::syscall(SYS_execve, path, arguments, environment));
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name,cert-dcl50-cpp)
