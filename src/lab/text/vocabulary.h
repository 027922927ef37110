// A byte-level BPE vocabulary: tokens (bytes) by id, the merges in their order, and special tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lehi::text {

using TokenId = std::uint32_t;

/// More than any published vocabulary has, few enough to allocate for without a thought.
inline constexpr std::size_t most_tokens = 400'000;
inline constexpr std::size_t most_merges = 500'000;

/// What a vocabulary file says, as its parser leaves it: nothing is checked yet.
struct VocabularyParts {
  std::vector<std::pair<std::string, std::uint64_t>> tokens;  ///< bytes and id, specials apart
  std::vector<std::pair<std::string, std::string>> merges;    ///< bytes of left and right, in order
  std::vector<std::pair<std::string, std::uint64_t>> specials;
};

/// What two neighbouring tokens become.
struct Merge {
  std::uint32_t rank;  ///< place in the list of merges: lower goes first
  TokenId id;
};

class Vocabulary {
 public:
  /// Throws DataError, `where` naming the files, unless ids are 0, 1, 2, ... without gap or repetition, no text
  /// appears twice, every byte has a token, and every merge is of two tokens into a third, once.
  Vocabulary(const VocabularyParts& parts, const std::string& where);

  TokenId size() const { return static_cast<TokenId>(spans_.size()); }

  /// The bytes of a token or the text of a special one; `id` is below size().
  std::string_view bytes(TokenId id) const {
    const auto [offset, length] = spans_[id];
    return std::string_view(arena_).substr(offset, length);
  }

  /// The ordinary token with these bytes.
  std::optional<TokenId> find(std::string_view bytes) const;

  /// The token of one byte.
  TokenId byte(unsigned char value) const { return byte_ids_[value]; }

  /// The merge of two neighbours; nullptr where there is none.
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

  /// The first special token in `text` from `begin` on, the longest of those that start there.
  std::optional<Special> find_special(std::string_view text, std::size_t begin) const;

  /// The id of a special token by its text.
  std::optional<TokenId> special(std::string_view text) const;

 private:
  struct Slot {
    std::uint64_t key;
    Merge merge;
  };
  static constexpr std::uint64_t no_key = ~std::uint64_t{0};
  static constexpr std::uint64_t hash_factor = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  static std::uint64_t pair_key(TokenId left, TokenId right) { return std::uint64_t{left} << 32 | right; }

  void add_tokens(const VocabularyParts& parts, const std::string& where);
  void add_specials(const VocabularyParts& parts, const std::string& where);
  void add_merges(const VocabularyParts& parts, const std::string& where);
  void index_token(TokenId id, const std::string& where);

  std::string arena_;                                       // all tokens' bytes, one after the other
  std::vector<std::pair<std::size_t, std::size_t>> spans_;  // by id
  std::vector<TokenId> index_;                              // hash table of ordinary tokens: id + 1, or 0
  std::vector<TokenId> byte_ids_;
  std::vector<Slot> merges_;
  int merge_shift_ = 0;
  std::vector<std::pair<std::string, TokenId>> specials_;  // sorted by text
  std::vector<std::size_t> special_lengths_;               // distinct, longest first
  std::string special_prefix_;                             // what all of them start with
};

/// A hash of a few bytes, for tables of tokens and words.
std::uint64_t hash_bytes(std::string_view bytes);

}  // namespace lehi::text
