// Tokenises text files, and keeps the tokens in a cache on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "text/token_data.h"
#include "text/tokenizer.h"

namespace lehi::text {

struct TokenRequest {
  std::filesystem::path file;  ///< text, JSON Lines or a token shard, see format_of()
  std::string field = "text";  ///< the field of JSON Lines with the text
  std::string cache_dir = {};  ///< "": $XDG_CACHE_HOME/lehi/tokens, else ~/.cache/lehi/tokens
  /// Called once before a file is tokenised, which takes seconds; not called if the tokens are in the cache.
  std::function<void(const std::string&)> on_message = {};
};

/// The tokens of a file. A plain text is one document and becomes its tokens only; each document of JSON Lines is
/// preceded by Tokenizer::document_start(). Special tokens in the text are treated as ordinary text. The result is
/// cached under a digest of the file, the tokenizer and the field; a damaged cache file is written anew. Throws
/// DataError for a file that can't be used, also if the file changes meanwhile; then nothing is cached.
TokenData load_tokens(const TokenRequest& request, const Tokenizer& tokenizer);

/// The cache's directory: `chosen`, or the default if that is "".
std::filesystem::path token_cache_directory(const std::string& chosen);

/// Tokenises a text file into a token shard and returns the number of tokens.
std::int64_t write_tokens(const std::filesystem::path& text, const std::string& field, const Tokenizer& tokenizer,
                          const std::filesystem::path& shard);

}  // namespace lehi::text
