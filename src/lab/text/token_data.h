// Tokens for a language model: a range of a file of tokens, read where it is needed, and fixed-length blocks of it.
//
//   const auto tokenizer = Tokenizer::load(TokenizerKind::gpt2, data_dir);
//   const auto all = load_tokens({.file = "speeches.txt"}, tokenizer);       // tokenised once, then from the cache
//   const auto [train, validation, test] = split(all, 0.1, 0.1);
//   const auto blocks = train.blocks(128);
//   for (std::int64_t i = 0; i < blocks.size(); ++i) blocks.copy(i, inputs, targets);     // targets shifted by one
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/documents.h"
#include "text/regular_file.h"
#include "text/tokenizer.h"

namespace lehi::text {

class TokenBlocks;

/// A value: copies share the open file, which is closed when the last of them ends.
class TokenData {
 public:
  /// A whole token shard. Throws DataError unless the header and every token agree with file and vocabulary; one
  /// sequential pass over the file.
  static TokenData open(const std::filesystem::path& shard, const Tokenizer& tokenizer);
  /// The same by the vocabulary's published size, without its files.
  static TokenData open(const std::filesystem::path& shard, TokenizerKind kind);

  std::int64_t size() const { return count_; }

  /// Copies the tokens from `begin` on; all of them are below size(). As 64-bit integers, which is what embeddings and
  /// losses take. Throws DataError where somebody has cut the file short.
  void copy(std::int64_t begin, std::span<std::int64_t> to) const;

  /// Tokens begin, begin + 1, ..., end - 1. Throws std::invalid_argument for a range outside.
  TokenData slice(std::int64_t begin, std::int64_t end) const;

  /// Throws std::invalid_argument for a length below 1, or when there are no length + 1 tokens.
  TokenBlocks blocks(std::int64_t length) const;

 private:
  static TokenData open(const std::filesystem::path& shard, TokenizerKind kind, std::int64_t vocabulary);
  TokenData(std::shared_ptr<const RegularFile> file, int token_bytes, std::int64_t first, std::int64_t count)
      : file_(std::move(file)), token_bytes_(token_bytes), first_(first), count_(count) {}

  std::shared_ptr<const RegularFile> file_;
  int token_bytes_;
  std::int64_t first_;
  std::int64_t count_;
};

struct TokenBlock {
  std::vector<std::int64_t> inputs;
  std::vector<std::int64_t> targets;
};

/// Block i has inputs i*length ... i*length + length - 1 and as targets the tokens after each, so that every token but
/// the first is a target once; a rest that fills no block is left out.
class TokenBlocks {
 public:
  TokenBlocks(TokenData tokens, std::int64_t length);

  std::int64_t size() const { return (tokens_.size() - 1) / length_; }
  std::int64_t length() const { return length_; }
  TokenBlock block(std::int64_t i) const;
  /// The same into memory of the caller's, `length` numbers each.
  void copy(std::int64_t i, std::span<std::int64_t> inputs, std::span<std::int64_t> targets) const;

 private:
  TokenData tokens_;
  std::int64_t length_;
};

struct TokenSplit {
  TokenData train;
  TokenData validation;
  TokenData test;
};

/// The last fraction is for testing, the one before for validation, the rest for training; each in one piece, so that
/// no text is on both sides but at the two cuts. Fractions are at least 0 and sum to less than 1.
TokenSplit split(const TokenData& tokens, double validation_fraction, double test_fraction);

struct TokenRequest {
  std::filesystem::path file;  ///< text, JSON Lines or token shard, see format_of()
  std::string field = "text";  ///< of JSON Lines
  std::string cache_dir = {};  ///< "": $XDG_CACHE_HOME/lehi/tokens, else ~/.cache/lehi/tokens
  /// Told once, before a text is tokenised because the cache has no copy: it takes seconds.
  std::function<void(const std::string&)> on_message = {};
};

/// The tokens of a file. A plain text is one document and becomes its tokens, no more; documents of JSON Lines have
/// Tokenizer::document_start() in front of each. Special tokens in the text are ordinary text. The result is kept in
/// the cache under a digest of the file, the tokenizer and the field; a cached file that is damaged is made again.
/// Throws DataError, also when the file changes meanwhile: then nothing is kept.
TokenData load_tokens(const TokenRequest& request, const Tokenizer& tokenizer);

/// The folder of the cache, `chosen` being "" or a folder of the user's.
std::filesystem::path token_cache_directory(const std::string& chosen);

/// Tokenises a file of text into a token shard; the number of tokens. What load_tokens() does on the first time.
std::int64_t write_tokens(const std::filesystem::path& text, const std::string& field, const Tokenizer& tokenizer,
                          const std::filesystem::path& shard);

}  // namespace lehi::text
