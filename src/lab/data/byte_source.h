// A file's bytes in order, decompressed on the way: plain, gzip or zstd, by what the file starts with and not by its
// name. Memory stays at a few buffers, whatever a compressed file claims to hold. For all of a file: data/bytes.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace lehi::data {

/// What a compressed file may become: 64 MiB whatever its size, and 100 times its size. Text and images shrink to a
/// tenth or so; a file that grows a thousandfold was made to fill a memory or a disk.
inline constexpr std::int64_t free_expansion = std::int64_t{64} << 20;
inline constexpr std::int64_t most_expansion = 100;

class ByteSource {
 public:
  /// Throws DataError when the file can't be opened. More than `limit` bytes, decompressed, are refused as soon as they
  /// are known of, and so is what grows too much.
  ByteSource(std::filesystem::path file, std::int64_t limit);
  ByteSource(const ByteSource&) = delete;
  ByteSource(ByteSource&&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ByteSource& operator=(ByteSource&&) = delete;
  ~ByteSource();

  /// Up to `most` bytes into `to`; 0 at the end only. Throws DataError for damaged or truncated data.
  std::size_t read(char* to, std::size_t most);

  /// How many bytes there will be in all: true of a plain file unless it changes; what a gzip file's last member says,
  /// which may be a lie, where that much memory is no harm; else nothing.
  std::optional<std::size_t> likely_size() const { return unpacker_->likely_size(); }

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
    virtual std::optional<std::size_t> likely_size() const { return std::nullopt; }
  };

 private:
  std::filesystem::path file_;
  std::int64_t limit_;
  std::int64_t count_ = 0;
  std::unique_ptr<Unpacker> unpacker_;
};

}  // namespace lehi::data
