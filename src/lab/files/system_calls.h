// System calls that throw FileError. For this room only.
#pragma once

#include <cerrno>
#include <filesystem>

namespace lehi {

/// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// The directory of `path`: "." where it has none.
std::filesystem::path parent_of(const std::filesystem::path& path);

/// Syncs a file or a directory by its path.
void sync_path(const std::filesystem::path& path, bool directory);

void rename_path(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a file, or a directory with its contents.
void remove_path(const std::filesystem::path& path);

}  // namespace lehi
