#include "data/find_files.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <system_error>

#include "data/error.h"
#include "runtime/message.h"

namespace lehi::data {
namespace {

namespace fs = std::filesystem;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// The possible names of a file, the preferred one first.
std::vector<std::string> names_of(const TaskFiles& task, const OfficialFile& file) {
  if (task.endings.empty()) return {file.name, file.name + ".gz"};
  std::vector<std::string> names;
  names.reserve(task.endings.size());
  for (const std::string& ending : task.endings) names.push_back(fs::path(file.name).stem().string() + ending);
  return names;
}

}  // namespace

fs::path data_directory(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  if (const std::string folder = environment_variable("LEHI_DATA_DIR"); !folder.empty()) return folder;
  // The XDG specification ignores relative paths.
  if (const fs::path folder = environment_variable("XDG_DATA_HOME"); folder.is_absolute()) return folder / "lehi";
  if (const fs::path home = environment_variable("HOME"); !home.empty()) return home / ".local/share/lehi";
  throw_invalid_argument("no data directory: HOME is not set; use --data-dir or set LEHI_DATA_DIR");
}

std::string forms_of(const TaskFiles& task) {
  if (task.endings.empty()) return "plain or .gz";
  return fmt::format("also as {}", fmt::join(task.endings.begin() + 1, task.endings.end(), ", "));
}

Place look_in(const TaskFiles& task, const fs::path& folder) {
  Place place{folder, {}, {}};
  for (const OfficialFile& file : task.files) {
    place.files.emplace_back();
    for (const std::string& name : names_of(task, file)) {
      std::error_code ignored;  // files in an unreadable directory count as missing
      if (place.files.back().empty() && fs::exists(folder / name, ignored)) place.files.back() = folder / name;
    }
    if (place.files.back().empty() && !file.optional) place.missing.push_back(file.name);
  }
  return place;
}

std::vector<Place> search(const TaskFiles& task, const std::string& data_dir) {
  std::vector<Place> places{look_in(task, data_directory(data_dir) / task.task)};
  if (task.origin == Origin::debian) places.push_back(look_in(task, fs::path("/") / task.package_folder));
  return places;
}

std::vector<fs::path> find_files(const TaskFiles& task, const std::string& data_dir) {
  std::vector<std::string> wanted;
  std::vector<std::string> folders;
  for (const Place& place : search(task, data_dir)) {
    if (place.complete()) return place.files;
    folders.push_back(place.folder.string());
  }
  for (const OfficialFile& file : task.files) wanted.push_back(file.name + (file.optional ? " (optional)" : ""));
  throw_data_error("task {} needs {} ({}), looked for in {}: {}", task.task, fmt::join(wanted, ", "), forms_of(task),
                   fmt::join(folders, " and "), task.advice);
}

}  // namespace lehi::data
