// BPE inside one word: of all neighbours that have a merge, those with the lowest rank (of equal ones, the leftmost)
// are joined, until none is left. This order, one pair at a time, is that of the Llama-3 reference; GPT-2's joins all
// places of a pair at once, which is the same for a vocabulary whose merges follow those that made their parts, as
// GPT-2's do.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace lehi::text {

/// Keeps its working memory between words.
class Merger {
 public:
  explicit Merger(const Vocabulary& vocabulary) : vocabulary_(&vocabulary) {}

  /// Appends the word's tokens. A short word takes n^2 steps of a tiny loop, any other n log n. Throws DataError for a
  /// word of 4 GiB or more.
  void merge(std::string_view word, std::vector<TokenId>& ids);

 private:
  void merge_short(std::string_view word, std::vector<TokenId>& ids) const;
  void merge_long(std::string_view word, std::vector<TokenId>& ids);
  std::optional<std::uint64_t> offer(std::uint32_t left) const;
  bool join(std::uint64_t entry);

  const Vocabulary* vocabulary_;
  // A linked list of the word's tokens, by the place of their first byte.
  std::vector<TokenId> token_;
  std::vector<std::uint32_t> next_;
  std::vector<std::uint32_t> previous_;
  // Merges to do: rank, then place of the left token. Those that no longer hold when their turn comes are skipped.
  std::vector<std::uint64_t> offers_;
  std::vector<std::uint64_t> heap_;
};

}  // namespace lehi::text
