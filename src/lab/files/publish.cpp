#include "files/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include "files/directories.h"
#include "files/file_error.h"
#include "files/system_calls.h"
#include "files/temporary.h"

namespace lehi {
namespace fs = std::filesystem;
namespace {

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

/// Renames `temporary` to `path`, and removes the directory that had this name.
void replace_directory(const fs::path& temporary, const fs::path& path) {
  if (::rename(temporary.c_str(), path.c_str()) == 0) return;
  if (errno != ENOTEMPTY && errno != EEXIST) throw FileError("rename a finished directory to", path, errno);
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    return remove_path(temporary);
  }
  // A file system without RENAME_EXCHANGE: between the two renames there is no directory of that name.
  const auto old = temporary_name(path);
  rename_path(path, old);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    rename_path(old, path);
    throw FileError("rename a finished directory to", path, error);
  }
  remove_path(old);
}

}  // namespace

PendingFile::PendingFile(fs::path path)
    : path_(std::move(path)), file_(temporary_name(path_), OutputFile::Mode::create) {
  while (!lock_new_file(file_.descriptor_)) file_ = OutputFile(temporary_name(path_), OutputFile::Mode::create);
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
  fs::path temporary;
  std::optional<TemporaryLock> lock;
  do {
    temporary = temporary_name(path);
    if (::mkdir(temporary.c_str(), 0777) != 0) throw FileError("create", temporary, errno);
    lock.emplace(temporary);
  } while (!lock->lock_new());
  try {
    fill(temporary);
    sync_tree(temporary);
    replace_directory(temporary, path);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  sync_path(parent_of(path), true);
}

}  // namespace lehi
