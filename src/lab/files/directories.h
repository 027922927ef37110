// Creating, listing, removing and locking directories.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lehi {

/// Creates the directory and its parents, and syncs the parent of each. Returns whether the directory is new; one that
/// exists is no error.
bool make_directories(const std::filesystem::path& path);

/// The names in a directory, sorted; empty if it does not exist.
std::vector<std::string> list_directory(const std::filesystem::path& directory);

/// Removes a file, or a directory with its contents. A directory is renamed first: if the process is killed, none with
/// missing files has the name.
void remove_tree(const std::filesystem::path& path);

/// Locks a directory against other lehi processes until it is destroyed or the process ends.
class DirectoryLock {
 public:
  /// FileError if another process holds the lock.
  explicit DirectoryLock(const std::filesystem::path& directory);
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock(DirectoryLock&&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  DirectoryLock& operator=(DirectoryLock&&) = delete;
  ~DirectoryLock();

 private:
  int descriptor_ = -1;
};

}  // namespace lehi
