#include "text/merger.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "data/error.h"

namespace lehi::text {
namespace {

constexpr std::size_t short_word = 48;
constexpr std::uint32_t no_position = std::numeric_limits<std::uint32_t>::max();
constexpr TokenId merged_away = std::numeric_limits<TokenId>::max();

}  // namespace

void Merger::merge(std::string_view word, std::vector<TokenId>& ids) {
  if (word.size() >= no_position)
    data::throw_data_error("a word of {} bytes is too long; the limit is 4 GiB", word.size());
  word.size() <= short_word ? merge_short(word, ids) : merge_long(word, ids);
}

void Merger::merge_short(std::string_view word, std::vector<TokenId>& ids) const {
  // A hot loop: only entries that were written are read.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<TokenId, short_word> tokens;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  std::array<const Merge*, short_word> merges;
  std::size_t count = word.size();
  for (std::size_t i = 0; i < count; ++i) tokens[i] = vocabulary_->byte(static_cast<unsigned char>(word[i]));
  for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = vocabulary_->merge(tokens[i], tokens[i + 1]);
  while (count > 1) {
    std::size_t best = count;
    std::uint32_t rank = no_position;
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (merges[i] != nullptr && merges[i]->rank < rank) {
        rank = merges[i]->rank;
        best = i;
      }
    }
    if (best == count) break;
    tokens[best] = merges[best]->id;
    --count;
    for (std::size_t i = best + 1; i < count; ++i) {
      tokens[i] = tokens[i + 1];
      merges[i - 1] = merges[i];
    }
    if (best + 1 < count) merges[best] = vocabulary_->merge(tokens[best], tokens[best + 1]);
    if (best > 0) merges[best - 1] = vocabulary_->merge(tokens[best - 1], tokens[best]);
  }
  ids.insert(ids.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
}

std::optional<std::uint64_t> Merger::candidate(std::uint32_t left) const {
  if (left == no_position || next_[left] == no_position) return {};
  const Merge* merge = vocabulary_->merge(token_[left], token_[next_[left]]);
  if (merge == nullptr) return {};
  return std::uint64_t{merge->rank} << 32 | left;
}

// False if the entry is outdated: the tokens at its position are no longer those for which it was made. (A pair with
// the same rank is the same pair.)
bool Merger::join(std::uint64_t entry) {
  const auto left = static_cast<std::uint32_t>(entry);
  if (token_[left] == merged_away || next_[left] == no_position) return false;
  const std::uint32_t right = next_[left];
  const Merge* merge = vocabulary_->merge(token_[left], token_[right]);
  if (merge == nullptr || merge->rank != entry >> 32) return false;
  token_[left] = merge->id;
  token_[right] = merged_away;
  next_[left] = next_[right];
  if (next_[left] != no_position) previous_[next_[left]] = left;
  return true;
}

void Merger::merge_long(std::string_view word, std::vector<TokenId>& ids) {
  const auto count = static_cast<std::uint32_t>(word.size());
  token_.resize(count);
  next_.resize(count);
  previous_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    token_[i] = vocabulary_->byte(static_cast<unsigned char>(word[i]));
    next_[i] = i + 1 < count ? i + 1 : no_position;
    previous_[i] = i > 0 ? i - 1 : no_position;
  }
  // The pairs of bytes are sorted once. Only pairs that merges create go through the heap, which keeps it small.
  initial_.clear();
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    if (const auto entry = candidate(i)) initial_.push_back(*entry);
  }
  std::sort(initial_.begin(), initial_.end());
  heap_.clear();
  const auto push = [this](std::uint32_t left) {
    if (const auto entry = candidate(left)) {
      heap_.push_back(*entry);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  };
  for (auto next_initial = initial_.begin(); next_initial != initial_.end() || !heap_.empty();) {
    std::uint64_t entry = 0;
    if (heap_.empty() || (next_initial != initial_.end() && *next_initial < heap_.front())) {
      entry = *next_initial++;
    } else {
      entry = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    }
    if (!join(entry)) continue;
    const auto left = static_cast<std::uint32_t>(entry);
    push(previous_[left]);
    push(left);
  }
  for (std::uint32_t i = 0; i != no_position; i = next_[i]) ids.push_back(token_[i]);
}

}  // namespace lehi::text
