// The bytes of a file in order, decompressed while they are read. The format (plain, gzip or zstd) follows from the
// file's first bytes, not from its name. Memory stays at a few buffers, whatever size a compressed file declares.
// data/bytes.h reads a whole file at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "data/decoder.h"

namespace lehi::data {

/// How large a compressed file may become: 64 MiB in any case, otherwise 100 times its size. Text and images compress
/// to about a tenth; a file that expands a thousandfold was made to exhaust memory or disk.
inline constexpr std::int64_t free_expansion = std::int64_t{64} << 20;
inline constexpr std::int64_t max_expansion_ratio = 100;

class ByteSource {
 public:
  /// Throws DataError when the file can't be opened. As soon as the file turns out to hold more than `limit` bytes
  /// after decompression, or to expand too much, the constructor or read() throws DataError.
  ByteSource(std::filesystem::path file, std::int64_t limit);

  /// Writes up to `max_bytes` to `to` and returns their number; 0 at the end only. Throws DataError for damaged or
  /// truncated data.
  std::size_t read(char* to, std::size_t max_bytes);

  /// The expected total number of bytes, for allocating memory: the size of a plain file; for gzip the size that its
  /// last member declares, where a wrong one would do no harm; otherwise nothing.
  std::optional<std::size_t> size_hint() const { return decoder_->size_hint(); }

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::int64_t limit_;
  std::int64_t count_ = 0;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace lehi::data
