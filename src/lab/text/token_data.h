// Tokens for a language model: a range of a token shard, which is read when needed, and blocks of fixed length.
//
//   const auto tokenizer = Tokenizer::load(TokenizerKind::gpt2, data_dir);
//   const auto all = load_tokens({.file = "speeches.txt"}, tokenizer);       // token_cache.h
//   const auto [train, validation, test] = split(all, 0.1, 0.1);
//   const auto blocks = train.blocks(128);
//   for (std::int64_t i = 0; i < blocks.size(); ++i) blocks.copy(i, inputs, targets);     // targets shifted by one
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "text/regular_file.h"
#include "text/tokenizer.h"

namespace lehi::text {

class TokenBlocks;

/// A value: copies share the open file, which is closed with the last of them.
class TokenData {
 public:
  /// A whole token shard. Reads it once from beginning to end, and throws DataError unless the header and every token
  /// match the file's size and the vocabulary.
  static TokenData open(const std::filesystem::path& shard, const Tokenizer& tokenizer);
  /// The same with the vocabulary's published size; needs none of its files.
  static TokenData open(const std::filesystem::path& shard, TokenizerKind kind);

  std::int64_t size() const { return count_; }

  /// Copies the tokens from `begin` on into `to`, as 64-bit integers, which embeddings and losses expect. Throws
  /// std::invalid_argument for a range outside the tokens, and DataError if another process truncated the file.
  void copy(std::int64_t begin, std::span<std::int64_t> to) const;

  /// Tokens begin, begin + 1, ..., end - 1. Throws std::invalid_argument for a range outside the tokens.
  TokenData slice(std::int64_t begin, std::int64_t end) const;

  /// Throws std::invalid_argument for a length below 1, or if there are fewer than length + 1 tokens.
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

/// Block i has the inputs i*length ... i*length + length - 1; the target of each is the token after it. So every token
/// but the first is a target once. Tokens at the end that fill no block are left out.
class TokenBlocks {
 public:
  TokenBlocks(TokenData tokens, std::int64_t length);

  std::int64_t size() const { return (tokens_.size() - 1) / length_; }
  std::int64_t length() const { return length_; }
  TokenBlock block(std::int64_t i) const;
  /// The same into the caller's memory, `length` numbers each.
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

/// Splits in order: training, validation, test; each part is one piece. Throws std::invalid_argument unless the
/// fractions are at least 0 and sum to less than 1.
TokenSplit split(const TokenData& tokens, double validation_fraction, double test_fraction);

}  // namespace lehi::text
