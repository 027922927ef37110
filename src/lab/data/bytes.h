// Whole files as bytes, plain, gzip or zstd, and their digests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace lehi::data {

/// Most bytes that a file may hold, after decompression, unless a caller says otherwise: 1 GiB.
inline constexpr std::int64_t default_byte_limit = std::int64_t{1} << 30;

/// The file's contents, decompressed when they are gzip or zstd (whatever the file's name). Throws DataError when the
/// file is missing, unreadable, larger than `limit`, or truncated or corrupt. Nothing is kept of what is decompressed
/// before it is known to fit.
std::string read_bytes(const std::filesystem::path& file, std::int64_t limit = default_byte_limit);

/// Lower-case hexadecimal digest; `algorithm` is "sha256" or "md5".
std::string hex_digest(const char* algorithm, std::string_view bytes);
/// The same of what `next` gives, piece by piece, until it gives nothing.
std::string hex_digest(const char* algorithm, const std::function<std::string_view()>& next);

}  // namespace lehi::data
