// The built-in tasks: which files each needs and where they come from. Tokenizers and texts that several tasks share
// have entries too; these have no records, inputs or outputs.
//
// The data directory (find_files.h) holds one directory per task: DIR/protein/CASP.csv. Every file may be plain or
// gzipped; the name of a gzipped file ends in .gz.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lehi::data {

/// A file as its authors published it. Size and digest are those of the decompressed contents.
struct OfficialFile {
  std::string name;
  std::int64_t bytes = 0;  ///< 0: unknown
  std::string sha256;      ///< "": unknown, only the size is compared
  bool optional = false;   ///< the task can be trained without it, on less data

  bool known() const { return bytes > 0 || !sha256.empty(); }
};

/// Where a task's files come from; `user`: the user downloads them.
enum class Origin { npm, debian, user };

struct TaskFiles {
  std::string task;
  std::string about;
  std::vector<OfficialFile> files;
  std::int64_t train_records = 0;
  std::int64_t test_records = 0;
  std::int64_t inputs = 0;   ///< of a model for the task
  std::int64_t outputs = 0;  ///< of a model for the task
  Origin origin = Origin::user;
  std::string package;         ///< the npm or Debian package that contains the files
  std::string package_folder;  ///< their directory in the package
  std::string joined = {};  ///< if not "": `files` has one entry, made of all files with this extension, sorted by name
  std::vector<std::string> endings = {};  ///< of the files' names, the preferred one first; empty: as published, or .gz
  std::string advice;                     ///< how a user gets the files, one sentence
};

/// Every built-in task, tokenizer and text.
const std::vector<TaskFiles>& catalogue();

/// The entry of this name; throws std::invalid_argument, listing all names, if there is none.
const TaskFiles& task_files(std::string_view task);

}  // namespace lehi::data
