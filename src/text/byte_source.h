// A file's bytes in order, decompressed on the way: plain, gzip or zstd, by what the file starts with and not by its
// name. Memory stays at a few buffers, whatever a compressed file claims to hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace lehi::text {

class ByteSource {
 public:
  /// Throws DataError when the file can't be opened. More than `limit` bytes, decompressed, are refused on reading, and
  /// so is what grows too much (data::check_expansion).
  ByteSource(std::filesystem::path file, std::int64_t limit);
  ByteSource(const ByteSource&) = delete;
  ByteSource(ByteSource&&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ByteSource& operator=(ByteSource&&) = delete;
  ~ByteSource();

  /// Up to `most` bytes into `to`; 0 at the end only. Throws DataError for damaged or truncated data.
  std::size_t read(char* to, std::size_t most);

  const std::filesystem::path& file() const { return file_; }

  /// Where the bytes come from: one way of unpacking.
  class Unpacker {
   public:
    Unpacker() = default;
    Unpacker(const Unpacker&) = delete;
    Unpacker(Unpacker&&) = delete;
    Unpacker& operator=(const Unpacker&) = delete;
    Unpacker& operator=(Unpacker&&) = delete;
    virtual ~Unpacker() = default;
    virtual std::size_t read(char* to, std::size_t most) = 0;
    /// Bytes of the file that were used so far; 0 where nothing is unpacked.
    virtual std::int64_t packed() const = 0;
  };

 private:
  std::filesystem::path file_;
  std::int64_t limit_;
  std::int64_t count_ = 0;
  std::unique_ptr<Unpacker> unpacker_;
};

/// All of a file; refused when it holds more than `limit` bytes, decompressed.
std::string read_all(const std::filesystem::path& file, std::int64_t limit);

}  // namespace lehi::text
