// `lehi data get`: copies a task's files from an npm or Debian package to the data directory.
#pragma once

#include <filesystem>

#include "data/catalogue.h"

namespace lehi::data {

/// Writes the official files of a task that are missing in DIR/TASK. The package is downloaded and unpacked in
/// DIR/.incoming, the digest of every file is checked, then each file is synced and renamed. If this is interrupted at
/// any point, a file has its final name only if it is complete, and .incoming is removed (after kill -9: by the next
/// call). An existing file that differs is never overwritten. Throws DataError or FileError, or Interrupted after
/// SIGINT or SIGTERM.
void fetch(const TaskFiles& task, const std::filesystem::path& data_dir);

}  // namespace lehi::data
