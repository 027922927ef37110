#include "text/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "data/error.h"
#include "text/byte_letters.h"
#include "text/utf8.h"

namespace lehi::text {
namespace {

constexpr std::size_t max_specials = 100'000;

void require_at_most(std::size_t count, std::size_t limit, const char* what, const std::string& where) {
  if (count > limit) data::throw_data_error("{} has {} {}, but at most {} are supported", where, count, what, limit);
}

// A power of two, at least twice the number of entries.
std::size_t table_size(std::size_t entries) { return std::bit_ceil(std::max<std::size_t>(2 * entries, 2)); }

// A token for a message: as written in its file, shortened if it is long.
std::string quoted_token(std::string_view bytes) {
  constexpr std::size_t max_bytes = 40;
  return fmt::format("'{}{}'", letters_of_bytes(bytes.substr(0, max_bytes)), bytes.size() > max_bytes ? "..." : "");
}

}  // namespace

std::uint64_t hash_bytes(std::string_view bytes) {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
  std::uint64_t hash = bytes.size() * factor;
  while (!bytes.empty()) {
    std::uint64_t piece = 0;
    const std::size_t length = std::min(bytes.size(), sizeof piece);
    std::memcpy(&piece, bytes.data(), length);
    hash = (hash ^ piece) * factor;
    hash ^= hash >> 32;
    bytes.remove_prefix(length);
  }
  return hash;
}

Vocabulary::Vocabulary(const VocabularyParts& parts, const std::string& where) {
  require_at_most(parts.tokens.size(), max_tokens, "tokens", where);
  require_at_most(parts.merges.size(), max_merges, "merges", where);
  require_at_most(parts.specials.size(), max_specials, "special tokens", where);
  add_tokens(parts, where);
  add_specials(parts, where);
  add_merges(parts, where);
}

// The ids are 0, 1, 2, ... without gap: there are as many as tokens, each is below their number, and none is repeated.
void Vocabulary::add_tokens(const VocabularyParts& parts, const std::string& where) {
  const std::size_t count = parts.tokens.size() + parts.specials.size();
  constexpr std::size_t unset = std::string::npos;
  spans_.assign(count, {unset, 0});
  const auto place = [&](const std::string& bytes, std::uint64_t id) {
    if (bytes.empty()) data::throw_data_error("{} gives id {} to an empty token", where, id);
    if (id >= count) {
      data::throw_data_error("{} gives id {} to token {}; with {} tokens, ids are 0 to {}", where, id,
                             quoted_token(bytes), count, count - 1);
    }
    if (spans_[id].first != unset)
      data::throw_data_error("{} gives id {} to two tokens; one of them is {}", where, id, quoted_token(bytes));
    spans_[id] = {arena_.size(), bytes.size()};
    arena_ += bytes;
  };
  for (const auto& [bytes, id] : parts.tokens) place(bytes, id);
  for (const auto& [text, id] : parts.specials) place(text, id);

  index_.assign(table_size(parts.tokens.size()), 0);
  for (const auto& token : parts.tokens) index_token(static_cast<TokenId>(token.second), where);
  byte_ids_.reserve(256);
  for (int value = 0; value < 256; ++value) {
    const char character = static_cast<char>(value);
    const auto id = find({&character, 1});
    if (!id) data::throw_data_error("{} has no token for the byte 0x{:02x}", where, value);
    byte_ids_.push_back(*id);
  }
}

void Vocabulary::index_token(TokenId id, const std::string& where) {
  const std::string_view bytes = this->bytes(id);
  std::size_t slot = hash_bytes(bytes) & (index_.size() - 1);
  while (index_[slot] != 0) {
    if (this->bytes(index_[slot] - 1) == bytes)
      data::throw_data_error("{} has the token {} twice", where, quoted_token(bytes));
    slot = (slot + 1) & (index_.size() - 1);
  }
  index_[slot] = id + 1;
}

std::optional<TokenId> Vocabulary::find(std::string_view bytes) const {
  for (std::size_t slot = hash_bytes(bytes) & (index_.size() - 1); index_[slot] != 0;
       slot = (slot + 1) & (index_.size() - 1)) {
    const TokenId id = index_[slot] - 1;
    if (this->bytes(id) == bytes) return id;
  }
  return {};
}

void Vocabulary::add_specials(const VocabularyParts& parts, const std::string& where) {
  specials_.reserve(parts.specials.size());
  special_lengths_.reserve(parts.specials.size());
  for (const auto& [text, id] : parts.specials) {
    require_utf8(text, fmt::format("a special token of {}", where));
    specials_.emplace_back(text, static_cast<TokenId>(id));
    special_lengths_.push_back(text.size());
  }
  std::sort(specials_.begin(), specials_.end());
  std::sort(special_lengths_.begin(), special_lengths_.end(), std::greater<>());
  special_lengths_.erase(std::unique(special_lengths_.begin(), special_lengths_.end()), special_lengths_.end());
  for (std::size_t i = 1; i < specials_.size(); ++i) {
    if (specials_[i].first == specials_[i - 1].first) {
      data::throw_data_error("{} has the special token {} twice", where, quoted_token(specials_[i].first));
    }
  }
  if (specials_.empty()) return;
  // Sorted, so the common prefix of the first and the last is common to all.
  const std::string& first = specials_.front().first;
  const std::string& last = specials_.back().first;
  special_prefix_.assign(first.begin(), std::mismatch(first.begin(), first.end(), last.begin(), last.end()).first);
}

void Vocabulary::add_merges(const VocabularyParts& parts, const std::string& where) {
  merges_.assign(table_size(parts.merges.size()), {no_key, {}});
  merge_shift_ = 64 - std::countr_zero(merges_.size());
  std::uint32_t rank = 0;
  std::string joined;
  for (const auto& merge : parts.merges) {
    const std::string& left = merge.first;
    const std::string& right = merge.second;
    const auto id_of = [&](std::string_view bytes) {
      const auto id = find(bytes);
      if (!id) {
        data::throw_data_error("merge {} of {}, {} and {}, needs the token {}, which is not in the vocabulary",
                               rank + 1, where, quoted_token(left), quoted_token(right), quoted_token(bytes));
      }
      return *id;
    };
    joined.assign(left).append(right);
    const std::uint64_t key = pair_key(id_of(left), id_of(right));
    std::size_t slot = key * hash_factor >> merge_shift_;
    for (; merges_[slot].key != no_key; slot = (slot + 1) & (merges_.size() - 1)) {
      if (merges_[slot].key == key) {
        data::throw_data_error("merge {} of {}, {} and {}, occurs twice", rank + 1, where, quoted_token(left),
                               quoted_token(right));
      }
    }
    merges_[slot] = {key, {rank, id_of(joined)}};
    ++rank;
  }
}

std::optional<TokenId> Vocabulary::special(std::string_view text) const {
  const auto found = std::lower_bound(specials_.begin(), specials_.end(), text,
                                      [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  if (found == specials_.end() || found->first != text) return {};
  return found->second;
}

std::optional<Vocabulary::Special> Vocabulary::find_special(std::string_view text, std::size_t begin) const {
  if (specials_.empty()) return {};
  for (std::size_t at = text.find(special_prefix_, begin); at < text.size(); at = text.find(special_prefix_, at + 1)) {
    for (const std::size_t length : special_lengths_) {
      if (length > text.size() - at) continue;
      if (const auto id = special(text.substr(at, length))) return Special{at, at + length, *id};
    }
  }
  return {};
}

}  // namespace lehi::text
