// Files of tokens in llm.c's format, which is also that of our own cache: 256 little-endian 32-bit words (magic,
// version, number of tokens, the rest 0), then the tokens.
//
//   GPT-2     magic 20240520, version 1, 16-bit tokens
//   Llama-3   magic 20240801, version 7, 32-bit tokens
//   bytes     magic 1768449388 (the file begins with "lehi"), version 1, 16-bit tokens; llm.c has none and refuses it
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "files/files.h"
#include "text/tokenizer.h"

namespace lehi::text {

/// What a shard's header says, found to agree with the file's size.
struct ShardHeader {
  TokenizerKind kind = TokenizerKind::gpt2;
  std::int64_t tokens = 0;
  int token_bytes = 2;
};

inline constexpr std::size_t shard_header_bytes = 1024;

/// Throws DataError, `where` being the file, unless magic and version are known and the file has exactly the size that
/// its number of tokens needs. `bytes`: the file's first shard_header_bytes, or all where it has fewer; `size`: its
/// size.
ShardHeader read_shard_header(std::string_view bytes, std::int64_t size, const std::string& where);

/// Writes a shard aside; it appears under its name, whole and synced, at publish().
class ShardWriter {
 public:
  /// In the folder of `file`, which must exist. What writers that were killed left there is removed.
  ShardWriter(const std::filesystem::path& file, TokenizerKind kind);

  /// Throws FileError when the disk takes no more, DataError for a token more than the format's 2^31 - 1.
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
