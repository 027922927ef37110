#include "text/merger.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "data/error.h"

namespace lehi::text {
namespace {

constexpr std::size_t short_word = 48;
constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
constexpr TokenId gone = std::numeric_limits<TokenId>::max();

}  // namespace

void Merger::merge(std::string_view word, std::vector<TokenId>& ids) {
  if (word.size() >= nowhere) data::refuse_data("a word of {} bytes is too long; the most is 4 GiB", word.size());
  word.size() <= short_word ? merge_short(word, ids) : merge_long(word, ids);
}

void Merger::merge_short(std::string_view word, std::vector<TokenId>& ids) const {
  std::array<TokenId, short_word> tokens;       // NOLINT(cppcoreguidelines-pro-type-member-init): hot, all that is read
  std::array<const Merge*, short_word> merges;  // NOLINT(cppcoreguidelines-pro-type-member-init): has been written
  std::size_t count = word.size();
  for (std::size_t i = 0; i < count; ++i) tokens[i] = vocabulary_->byte(static_cast<unsigned char>(word[i]));
  for (std::size_t i = 0; i + 1 < count; ++i) merges[i] = vocabulary_->merge(tokens[i], tokens[i + 1]);
  while (count > 1) {
    std::size_t best = count;
    std::uint32_t rank = nowhere;
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

std::optional<std::uint64_t> Merger::offer(std::uint32_t left) const {
  if (left == nowhere || next_[left] == nowhere) return {};
  const Merge* merge = vocabulary_->merge(token_[left], token_[next_[left]]);
  if (merge == nullptr) return {};
  return std::uint64_t{merge->rank} << 32 | left;
}

// False when the tokens there are no longer those that the entry was made for. (If others have the same rank, they are
// the same pair.)
bool Merger::join(std::uint64_t entry) {
  const auto left = static_cast<std::uint32_t>(entry);
  if (token_[left] == gone || next_[left] == nowhere) return false;
  const std::uint32_t right = next_[left];
  const Merge* merge = vocabulary_->merge(token_[left], token_[right]);
  if (merge == nullptr || merge->rank != entry >> 32) return false;
  token_[left] = merge->id;
  token_[right] = gone;
  next_[left] = next_[right];
  if (next_[left] != nowhere) previous_[next_[left]] = left;
  return true;
}

void Merger::merge_long(std::string_view word, std::vector<TokenId>& ids) {
  const auto count = static_cast<std::uint32_t>(word.size());
  token_.resize(count);
  next_.resize(count);
  previous_.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    token_[i] = vocabulary_->byte(static_cast<unsigned char>(word[i]));
    next_[i] = i + 1 < count ? i + 1 : nowhere;
    previous_[i] = i > 0 ? i - 1 : nowhere;
  }
  // The pairs of bytes are sorted once, which visits equal ones in order of place; only what merges offer anew goes
  // through the heap, which stays smaller for it.
  offers_.clear();
  for (std::uint32_t i = 0; i + 1 < count; ++i) {
    if (const auto entry = offer(i)) offers_.push_back(*entry);
  }
  std::sort(offers_.begin(), offers_.end());
  heap_.clear();
  const auto push = [this](std::uint32_t left) {
    if (const auto entry = offer(left)) {
      heap_.push_back(*entry);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  };
  for (auto offered = offers_.begin(); offered != offers_.end() || !heap_.empty();) {
    std::uint64_t entry = 0;
    if (heap_.empty() || (offered != offers_.end() && *offered < heap_.front())) {
      entry = *offered++;
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
  for (std::uint32_t i = 0; i != nowhere; i = next_[i]) ids.push_back(token_[i]);
}

}  // namespace lehi::text
