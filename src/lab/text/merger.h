// BPE within one word: of all pairs of neighbouring tokens that have a merge, the pair with the lowest rank (of equal
// ones, the leftmost) is joined, until no pair has a merge. This order, one pair at a time, is that of the Llama-3
// reference. GPT-2's reference joins all occurrences of a pair at once; the result is the same for a vocabulary in
// which each merge follows the merges that produced its parts, as in GPT-2's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace lehi::text {

/// Reuses its working memory for the next word.
class Merger {
 public:
  explicit Merger(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

  /// Appends the word's tokens. Takes O(n^2) time with a tiny constant for short words, O(n log n) for others. Throws
  /// DataError for a word of 4 GiB or more.
  void merge(std::string_view word, std::vector<TokenId>& ids);

 private:
  void merge_short(std::string_view word, std::vector<TokenId>& ids) const;
  void merge_long(std::string_view word, std::vector<TokenId>& ids);
  std::optional<std::uint64_t> candidate(std::uint32_t left) const;
  bool join(std::uint64_t entry);

  const Vocabulary* vocabulary_;
  // A linked list of the word's tokens, by the position of their first byte.
  std::vector<TokenId> token_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> previous_;
  // Possible merges: rank in the upper half, position of the left token in the lower. Outdated entries are skipped.
  std::vector<std::uint64_t> initial_;  // of the single bytes, sorted
  std::vector<std::uint64_t> heap_;     // of tokens made by merges
};

}  // namespace lehi::text
