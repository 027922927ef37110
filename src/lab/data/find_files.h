// Finds the files of a built-in task on disk.
//
// The data directory is --data-dir, else $LEHI_DATA_DIR, else $XDG_DATA_HOME/lehi, else ~/.local/share/lehi. Tasks that
// a Debian package installs are also looked for where the package puts them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/catalogue.h"

namespace lehi::data {

/// The data directory; `chosen` is --data-dir or "".
std::filesystem::path data_directory(const std::string& chosen);

/// A directory that was searched.
struct Place {
  std::filesystem::path folder;
  std::vector<std::filesystem::path> files;  ///< in the catalogue's order; an empty path for each file that is missing
  std::vector<std::string> missing;          ///< the names of missing files that are not optional

  bool complete() const { return missing.empty(); }
};

/// The forms in which a task's files may be stored, for messages: "plain or .gz".
std::string forms_of(const TaskFiles& task);

/// Looks for a task's files in one directory.
Place look_in(const TaskFiles& task, const std::filesystem::path& folder);

/// Looks for a task's files in every directory where they may be, the preferred one first.
std::vector<Place> search(const TaskFiles& task, const std::string& data_dir);

/// The files of the first complete directory, in the catalogue's order, with empty paths for optional files that are
/// missing. If there is none, throws DataError: which files are needed, where they were looked for, how to get them.
std::vector<std::filesystem::path> find_files(const TaskFiles& task, const std::string& data_dir);

}  // namespace lehi::data
