// A whole file as bytes: plain, gzip or zstd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace lehi::data {

/// The default limit for the contents of one file, after decompression: 1 GiB.
inline constexpr std::int64_t default_byte_limit = std::int64_t{1} << 30;

/// The file's contents, decompressed if they are gzip or zstd (whatever the file's name). Throws DataError when the
/// file is missing, unreadable, larger than `limit`, truncated or corrupt. Memory for decompressed contents is
/// allocated only once their size is known to be within the limit.
std::string read_bytes(const std::filesystem::path& file, std::int64_t limit = default_byte_limit);

}  // namespace lehi::data
