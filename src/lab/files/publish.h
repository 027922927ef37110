// Atomic replacement of files and directories. The new contents are written under a temporary name in the same
// directory, synced and renamed, and the directory is synced: after a crash there are either the old contents or the
// new ones. A failure removes the temporary; remove_leftovers() removes that of a killed process.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "files/output_file.h"

namespace lehi {

/// A file that appears under its final name, complete and synced, at publish(); without that call it is removed. The
/// temporary file is locked while it is written, so that remove_leftovers() of another process does not remove it.
class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path);
  PendingFile(const PendingFile&) = delete;
  PendingFile(PendingFile&&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  OutputFile& file() { return file_; }
  const std::filesystem::path& path() const { return path_; }  ///< the final path
  void publish();

 private:
  std::filesystem::path path_;
  OutputFile file_;
  bool published_ = false;
};

/// Replaces `path` by what `fill` writes.
void publish_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& fill);
void publish_text(const std::filesystem::path& path, std::string_view text);

/// Syncs a finished file and renames it to `path`, on the same file system.
void publish_existing(const std::filesystem::path& from, const std::filesystem::path& path);

/// Replaces the directory `path` by a new one. `fill` writes its files into the directory that it is passed.
void publish_directory(const std::filesystem::path& path,
                       const std::function<void(const std::filesystem::path&)>& fill);

}  // namespace lehi
