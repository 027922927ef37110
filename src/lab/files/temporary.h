// Names and locks of temporary files and directories. For this room only.
#pragma once

#include <filesystem>

namespace lehi {

/// An unused name NAME.tmp-PID-N beside `path`: a rename does not cross file systems.
std::filesystem::path temporary_name(const std::filesystem::path& path);

/// Locks a file that this process has just created. False if remove_leftovers() of another process removed it before it
/// was locked.
bool lock_new_file(int descriptor);

/// A lock on a temporary file or directory, by its path.
class TemporaryLock {
 public:
  explicit TemporaryLock(const std::filesystem::path& path);
  TemporaryLock(const TemporaryLock&) = delete;
  TemporaryLock(TemporaryLock&&) = delete;
  TemporaryLock& operator=(const TemporaryLock&) = delete;
  TemporaryLock& operator=(TemporaryLock&&) = delete;
  ~TemporaryLock();

  /// lock_new_file() of what this process has just created.
  bool lock_new() const;

  /// False if another process holds the lock. On a file system without locks nobody holds it.
  bool try_lock() const;

 private:
  int descriptor_;
  bool removed_;
};

}  // namespace lehi
