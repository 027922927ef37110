// Token shards: files of tokens in llm.c's format, which the token cache uses too. 256 little-endian 32-bit words
// (magic number, version, number of tokens, the rest 0), then the tokens.
//
//   GPT-2     magic 20240520, version 1, 16-bit tokens
//   Llama-3   magic 20240801, version 7, 32-bit tokens
//   bytes     magic 1768449388 (the file begins with "lehi"), version 1, 16-bit tokens; llm.c rejects it
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "files/files.h"
#include "text/tokenizer.h"

namespace lehi::text {

/// The contents of a shard's header, checked against the file's size.
struct ShardHeader {
  TokenizerKind kind = TokenizerKind::gpt2;
  std::int64_t tokens = 0;
  int token_bytes = 2;
};

inline constexpr std::size_t shard_header_bytes = 1024;

/// `bytes`: the first shard_header_bytes of the file, or all of a shorter file; `size`: the file's size; `where`: its
/// name. Throws DataError unless magic number and version are known and the size matches the number of tokens exactly.
ShardHeader read_shard_header(std::string_view bytes, std::int64_t size, const std::string& where);

/// Writes a shard under a temporary name; publish() syncs it and renames it to its final name.
class ShardWriter {
 public:
  /// The directory of `file` must exist. Temporary files of writers that were killed are removed.
  ShardWriter(const std::filesystem::path& file, TokenizerKind kind);

  /// Throws FileError when writing fails, and DataError for more than 2^31 - 1 tokens, the limit of the format.
  void write(std::span<const TokenId> ids);
  void publish();
  std::int64_t tokens() const { return tokens_; }

 private:
  void flush();

  PendingFile pending_;
  TokenizerKind kind_;
  std::int64_t tokens_ = 0;
  std::string buffer_;
};

}  // namespace lehi::text
