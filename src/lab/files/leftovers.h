// Temporary files and directories that a killed process has left. Those of a running process are locked and are not
// removed.
#pragma once

#include <filesystem>
#include <string>

namespace lehi {

/// Whether publish.h gives such names to temporary files: NAME.tmp-PID-N.
bool is_leftover_name(const std::string& name);

/// Removes all leftovers in a directory and returns their number.
int remove_leftovers(const std::filesystem::path& directory);

/// Removes only those of the file or directory `path`, in a directory that also has other programs' files.
int remove_leftovers_of(const std::filesystem::path& path);

}  // namespace lehi
