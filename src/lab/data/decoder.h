// Decompression: one class each for plain, gzip and zstd files behind one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace lehi::data {

class Decoder {
 public:
  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder(Decoder&&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  Decoder& operator=(Decoder&&) = delete;
  virtual ~Decoder() = default;

  /// Writes up to `max_bytes` of the decompressed contents to `to` and returns their number; 0 at the end only. Throws
  /// DataError for damaged or truncated data.
  virtual std::size_t read(char* to, std::size_t max_bytes) = 0;

  /// The number of compressed bytes that were used so far; 0 for a plain file.
  virtual std::int64_t compressed_bytes() const = 0;

  /// See ByteSource::size_hint().
  virtual std::optional<std::size_t> size_hint() const { return std::nullopt; }
};

/// Chooses the format by the file's first bytes. Throws DataError when the file can't be opened, or when a plain file
/// has more than `limit` bytes.
std::unique_ptr<Decoder> open_decoder(const std::filesystem::path& path, std::int64_t limit);

[[noreturn]] void throw_too_large(const std::string& file, std::int64_t limit);

}  // namespace lehi::data
