// Encodes many texts with one tokenizer; remembers the tokens of frequent words.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/merger.h"
#include "text/tokenizer.h"
#include "text/words.h"

namespace lehi::text {

/// For one thread at a time. The tokenizer must outlive it.
class Encoder {
 public:
  explicit Encoder(const Tokenizer& tokenizer);

  /// Appends the text's tokens. If the text is not UTF-8, appends nothing and throws DataError, whose message names the
  /// text as `what`.
  void encode(std::string_view text, Specials specials, std::vector<TokenId>& ids,
              const std::string& what = "the text");

  /// The same with Specials::as_text; calls `take` with some tokens at a time, so that those of a long text need not be
  /// in memory at once.
  void encode_text(std::string_view text, const std::function<void(std::span<const TokenId>)>& take,
                   const std::string& what = "the text");

 private:
  // An entry of a direct-mapped cache: a word and its tokens, one cache line.
  struct alignas(64) CachedWord {
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
  bool whole_words_first_;  // Llama-3: a word that is a token is taken as it is, whatever the merges would give
  Merger merger_;
  std::vector<CachedWord> cache_;
};

}  // namespace lehi::text
