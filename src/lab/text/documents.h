// Reads text files for language models document by document. A plain text file is one document; a JSON Lines file has
// one document a line, in a field of the line's object. Both may be compressed with gzip or zstd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace lehi::text {

enum class TextFormat { plain, json_lines, shard };

/// The format follows from the file's name: .jsonl or .ndjson (also with .gz or .zst) is JSON Lines, .bin a token
/// shard, anything else plain text.
TextFormat format_of(const std::filesystem::path& file);

/// Limits in bytes, after decompression.
struct TextLimits {
  std::int64_t plain_bytes = std::int64_t{4} << 30;    ///< of a plain text file, which is held in memory
  std::int64_t line_bytes = std::int64_t{16} << 20;    ///< of a line of JSON
  std::int64_t total_bytes = std::int64_t{256} << 30;  ///< of a JSON Lines file
};

/// Calls `take` with each document, which is valid UTF-8. `field` is the name of the field with the text. Empty lines
/// are skipped. Throws DataError, with the file and the line, for anything that is not UTF-8 (with its byte offset
/// after decompression), not JSON, not an object, or has no such field. Exceptions of `take` are passed on.
void read_documents(const std::filesystem::path& file, TextFormat format, const std::string& field,
                    const std::function<void(std::string_view)>& take, const TextLimits& limits = {});

}  // namespace lehi::text
