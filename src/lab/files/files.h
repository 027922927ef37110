// The only place of the program that writes files. What is published appears whole or not at all, also after a crash:
// it is written aside in the same directory, synced, renamed, and the directory is synced. A failure leaves no
// temporary behind; what a killed process leaves is named so that remove_leftovers() finds it. Nothing else in src/ may
// open a file for writing: tests/faults fails every one of these calls in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/one_line.h"

namespace lehi {

/// A file that could not be read or written, or whose contents are damaged: one sentence that names it.
class FileError : public std::runtime_error {
 public:
  explicit FileError(const std::string& text) : std::runtime_error(one_line(text)) {}
  /// "cannot <operation> <path>: <reason>; <what to do>", from the errno of a system call.
  FileError(std::string_view operation, const std::filesystem::path& path, int error);
};

/// A file that bytes are written to, in whole pieces.
class OutputFile {
 public:
  enum class Mode { create, append };  ///< create refuses a name that exists; append creates one that does not
  OutputFile(std::filesystem::path path, Mode mode);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// One write call (more only where the system takes less). A failed write takes back what it had written.
  void write(std::string_view bytes);
  /// Over bytes that were written before.
  void write_at(std::uint64_t offset, std::string_view bytes);
  void sync();
  void close();  ///< says what the destructor would have to swallow

  const std::filesystem::path& path() const { return path_; }

 private:
  friend class PendingFile;
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// A file that is written aside and appears under its name, whole and synced, at publish(); without that, never. Holds
/// a lock on what it writes, so that remove_leftovers() of another process leaves it alone.
class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  OutputFile& file() { return file_; }
  const std::filesystem::path& path() const { return path_; }  ///< the name that it will have
  void publish();

 private:
  std::filesystem::path path_;
  OutputFile file_;
  bool published_ = false;
};

/// A regular file that bytes are read from.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Exactly so many bytes, after those of the last call; a file that ends before is an error.
  void read(void* to, std::size_t bytes);
  /// The same from byte `offset` on, wherever read() is.
  void read_at(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
};

/// The whole file; one larger than `limit` is refused before anything is allocated.
std::string read_text(const std::filesystem::path& path, std::uint64_t limit);

/// Replaces `path` by what `fill` writes.
void publish_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& fill);
void publish_text(const std::filesystem::path& path, std::string_view text);

/// Gives a finished file of the same file system its name.
void publish_existing(const std::filesystem::path& from, const std::filesystem::path& path);

/// Replaces the directory `path` by one whose files `fill` writes into the directory it is given.
void publish_directory(const std::filesystem::path& path,
                       const std::function<void(const std::filesystem::path&)>& fill);

/// Removes a file or a directory with all it holds; no half-removed directory keeps the name, whenever the process
/// dies.
void remove_tree(const std::filesystem::path& path);

/// Creates the directory and its parents, each synced into its own; one that exists is fine. Whether it is new.
bool make_directories(const std::filesystem::path& path);

/// The names in a directory, sorted; none when it does not exist.
std::vector<std::string> list_directory(const std::filesystem::path& directory);

/// Keeps other lehi processes off a directory for as long as it lives (and the process does: a killed one holds none).
class DirectoryLock {
 public:
  /// FileError when another process has it.
  explicit DirectoryLock(const std::filesystem::path& directory);
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

 private:
  int descriptor_ = -1;
};

/// A name that something has while it is written aside.
bool is_leftover_name(const std::string& name);

/// Removes what writers that are gone left in a directory; returns how many. What a living one writes is locked, and
/// stays.
int remove_leftovers(const std::filesystem::path& directory);

/// The same of writers of this one file or directory: where the others in its directory are none of ours.
int remove_leftovers_of(const std::filesystem::path& path);

}  // namespace lehi
