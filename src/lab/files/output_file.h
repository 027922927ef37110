// A file that is open for writing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace lehi {

class OutputFile {
 public:
  enum class Mode { create, append };  ///< create: the file must not exist; append: it is created if it does not
  OutputFile(std::filesystem::path path, Mode mode);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  /// Appends with one system call (more only if the system writes less than asked). After a failed write the file is
  /// truncated to its length before the call.
  void write(std::string_view bytes);
  /// Overwrites bytes that were written before.
  void write_at(std::uint64_t offset, std::string_view bytes);
  void sync();
  void close();  ///< reports close errors; the destructor ignores them

  const std::filesystem::path& path() const { return path_; }

 private:
  friend class PendingFile;
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace lehi
