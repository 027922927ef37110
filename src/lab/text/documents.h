// Text files for language models, document by document: a plain text is one document, a JSON Lines file has one a line,
// in a field of its own. Either may be gzip or zstd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace lehi::text {

enum class TextFormat { plain, json_lines, shard };

/// By the name: .jsonl or .ndjson (also .gz, .zst) is JSON Lines, .bin a token shard, everything else plain text.
TextFormat format_of(const std::filesystem::path& file);

struct TextLimits {
  std::int64_t plain_bytes = std::int64_t{4} << 30;    ///< of a plain text, which is held in memory
  std::int64_t line_bytes = std::int64_t{16} << 20;    ///< of a line of JSON: a shelf of novels
  std::int64_t total_bytes = std::int64_t{256} << 30;  ///< of a JSON Lines file, decompressed
};

/// Calls `take` with each document, valid UTF-8 all. `field` names the text in a line's object. Throws DataError with
/// the file and, where it has lines, the line for: what is not UTF-8 (with its byte offset, decompressed), not JSON, no
/// object, or lacks the field; an empty line is skipped. What `take` throws goes through.
void read_documents(const std::filesystem::path& file, TextFormat format, const std::string& field,
                    const std::function<void(std::string_view)>& take, const TextLimits& limits = {});

}  // namespace lehi::text
