#include "files/leftovers.h"

#include <regex>

#include "files/directories.h"
#include "files/system_calls.h"
#include "files/temporary.h"

namespace lehi {
namespace fs = std::filesystem;
namespace {

int remove_leftovers(const fs::path& directory, const std::string& prefix) {
  int count = 0;
  for (const auto& name : list_directory(directory)) {
    if (!name.starts_with(prefix) || !is_leftover_name(name)) continue;
    const TemporaryLock lock(directory / name);
    if (!lock.try_lock()) continue;
    remove_path(directory / name);  // under the lock: a process that has just created it notices in lock_new()
    ++count;
  }
  return count;
}

}  // namespace

bool is_leftover_name(const std::string& name) {
  static const std::regex pattern(R"(.+\.tmp-\d+-\d+)");
  return std::regex_match(name, pattern);
}

int remove_leftovers(const fs::path& directory) { return remove_leftovers(directory, ""); }

int remove_leftovers_of(const fs::path& path) {
  return remove_leftovers(parent_of(path), path.filename().string() + ".tmp-");
}

}  // namespace lehi
