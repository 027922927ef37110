// What each built-in task needs on disk, where it is looked for, and where it comes from. Tokenizers and texts that
// several tasks share have entries like tasks, without records, inputs or outputs.
//
// The data directory is --data-dir, else $LEHI_DATA_DIR, else $XDG_DATA_HOME/lehi, else ~/.local/share/lehi. It holds
// one folder a task (DIR/protein/CASP.csv); a task that a Debian package installs is looked for there too. Every file
// may be plain or gzipped (then its name ends in .gz).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::data {

/// A file as its authors published it. Size and digest are those of the contents, decompressed; 0 and "" where there
/// is none to compare with.
struct OfficialFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string sha256;     ///< "" where nobody published it: only the size is compared then
  bool optional = false;  ///< the task can do without, on less data

  bool known() const { return bytes > 0 || !sha256.empty(); }
};

enum class Origin { npm, debian, user };

struct TaskFiles {
  std::string task;
  std::string about;
  std::vector<OfficialFile> files;
  std::int64_t train_records = 0;
  std::int64_t test_records = 0;
  std::int64_t inputs = 0;  ///< of a model for it
  std::int64_t outputs = 0;
  Origin origin = Origin::user;
  std::string package;         ///< npm or Debian package that has the files
  std::string package_folder;  ///< where they are in it
  std::string joined = {};     ///< when not "": the one file is made of all that end so, by name, each ending a line
  std::vector<std::string> endings = {};  ///< of the files' names, in order of preference; empty: as they are, or .gz
  std::string advice;                     ///< how a user gets the files, one sentence
};

/// Every built-in task, tokenizer and text.
const std::vector<TaskFiles>& catalogue();

/// One of them; throws std::invalid_argument, naming all, for any other name.
const TaskFiles& task_files(std::string_view task);

/// The data directory, `chosen` being --data-dir or "".
std::filesystem::path data_directory(const std::string& chosen);

/// A folder that was searched.
struct Place {
  std::filesystem::path folder;
  std::vector<std::filesystem::path> files;  ///< in the catalogue's order; empty paths where a file is missing
  std::vector<std::string> missing;          ///< the names of those, but for optional ones

  bool complete() const { return missing.empty(); }
};

/// In which forms a task's files may be, for messages: "plain or .gz".
std::string forms_of(const TaskFiles& task);

/// What of a task's files is in a folder.
Place look_in(const TaskFiles& task, const std::filesystem::path& folder);

/// The folders where a task's files may be, in order of preference, with what is there.
std::vector<Place> search(const TaskFiles& task, const std::string& data_dir);

/// The files of the first complete folder, in the catalogue's order, empty paths for optional ones. Throws DataError
/// that says which files are wanted, where they were looked for and how to get them.
std::vector<std::filesystem::path> find_files(const TaskFiles& task, const std::string& data_dir);

/// "" when the file's contents are the official ones as far as these are known, else a sentence that says how they
/// differ. Line ends of text files do not count. Throws DataError when the file can't be read.
std::string difference_from_official(const OfficialFile& official, const std::filesystem::path& file);

/// Throws DataError, `advice` being the end of its sentence, when a file that is there is not the official one.
void require_official(const TaskFiles& task, const Place& place, const std::string& advice);

}  // namespace lehi::data
