// A byte-level BPE vocabulary: tokens (strings of bytes) by id, merges by rank, and special tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lehi::text {

using TokenId = std::uint32_t;

/// More than any published vocabulary has; few enough to allocate memory for.
inline constexpr std::size_t max_tokens = 400'000;
inline constexpr std::size_t max_merges = 500'000;

/// The contents of a vocabulary file as parsed, not validated.
struct VocabularyParts {
  std::vector<std::pair<std::string, std::uint64_t>> tokens;  ///< bytes and id, without special tokens
  std::vector<std::pair<std::string, std::string>> merges;    ///< bytes of the left and the right token
  std::vector<std::pair<std::string, std::uint64_t>> specials;
};

/// The token that two neighbouring tokens become.
struct Merge {
  std::uint32_t rank;  ///< position in the list of merges; lower ranks are merged first
  TokenId id;
};

class Vocabulary {
 public:
  /// Throws DataError, whose message names the files as `where`, unless the ids are 0, 1, 2, ... without gap or
  /// repetition, tokens are unique, every byte has one, and merges are unique and join two tokens to a third.
  Vocabulary(const VocabularyParts& parts, const std::string& where);

  TokenId size() const { return static_cast<TokenId>(spans_.size()); }

  /// The bytes of a token, special or not; `id` must be below size().
  std::string_view bytes(TokenId id) const {
    const auto [offset, length] = spans_[id];
    return std::string_view(arena_).substr(offset, length);
  }

  /// The token with these bytes; special tokens are not considered.
  std::optional<TokenId> find(std::string_view bytes) const;

  /// The token of one byte.
  TokenId byte(unsigned char value) const { return byte_ids_[value]; }

  /// The merge of two neighbouring tokens; nullptr if there is none.
  const Merge* merge(TokenId left, TokenId right) const {
    const std::uint64_t key = pair_key(left, right);
    for (std::size_t slot = key * hash_factor >> merge_shift_;; slot = (slot + 1) & (merges_.size() - 1)) {
      const Slot& candidate = merges_[slot];
      if (candidate.key == key) return &candidate.merge;
      if (candidate.key == no_key) return nullptr;
    }
  }

  struct Special {
    std::size_t begin;
    std::size_t end;
    TokenId id;
  };

  /// The first special token in `text` from `begin` on; if several start at the same position, the longest.
  std::optional<Special> find_special(std::string_view text, std::size_t begin) const;

  /// The id of a special token by its text.
  std::optional<TokenId> special(std::string_view text) const;

 private:
  struct Slot {
    std::uint64_t key;
    Merge merge;
  };
  static constexpr std::uint64_t no_key = ~std::uint64_t{0};
  static constexpr std::uint64_t hash_factor = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio
  static std::uint64_t pair_key(TokenId left, TokenId right) { return std::uint64_t{left} << 32 | right; }

  void add_tokens(const VocabularyParts& parts, const std::string& where);
  void add_specials(const VocabularyParts& parts, const std::string& where);
  void add_merges(const VocabularyParts& parts, const std::string& where);
  void index_token(TokenId id, const std::string& where);

  std::string arena_;                                       // all tokens' bytes, one after the other
  std::vector<std::pair<std::size_t, std::size_t>> spans_;  // by id
  std::vector<TokenId> index_;                              // hash table of tokens, special ones excluded: id + 1, or 0
  std::vector<TokenId> byte_ids_;
  std::vector<Slot> merges_;
  int merge_shift_ = 0;
  std::vector<std::pair<std::string, TokenId>> specials_;  // sorted by text
  std::vector<std::size_t> special_lengths_;               // distinct, longest first
  std::string special_prefix_;                             // the common prefix of all special tokens
};

/// A hash of a short string, for tables of tokens and words.
std::uint64_t hash_bytes(std::string_view bytes);

}  // namespace lehi::text
