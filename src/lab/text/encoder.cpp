#include "text/encoder.h"

#include <algorithm>
#include <cstring>

#include "text/utf8.h"

namespace lehi::text {
namespace {

constexpr std::size_t cached_words = std::size_t{1} << 15;  // 2 MiB, the size of a core's second-level cache

}  // namespace

Encoder::Encoder(const Tokenizer& tokenizer)
    : tokenizer_(&tokenizer),
      rule_(tokenizer.kind() == TokenizerKind::gpt2 ? WordRule::gpt2 : WordRule::llama3),
      whole_words_first_(tokenizer.kind() == TokenizerKind::llama3),
      merger_(tokenizer.vocabulary()) {}

void Encoder::encode(std::string_view text, Specials specials, std::vector<TokenId>& ids, const std::string& what) {
  require_utf8(text, what);
  const bool as_tokens = specials == Specials::as_tokens ||
                         (specials == Specials::reference && tokenizer_->kind() == TokenizerKind::llama3);
  std::size_t begin = 0;
  while (as_tokens) {
    const auto special = tokenizer_->vocabulary().find_special(text, begin);
    if (!special) break;
    encode_plain(text.substr(begin, special->begin - begin), ids);
    ids.push_back(special->id);
    begin = special->end;
  }
  encode_plain(text.substr(begin), ids);
}

void Encoder::encode_text(std::string_view text, const std::function<void(std::span<const TokenId>)>& take,
                          const std::string& what) {
  constexpr std::size_t piece = std::size_t{1} << 16;
  require_utf8(text, what);
  const bool bytes = tokenizer_->kind() == TokenizerKind::bytes;
  std::vector<TokenId> ids;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = bytes ? std::min(begin + piece, text.size()) : word_end(rule_, text, begin);
    const auto part = text.substr(begin, end - begin);
    bytes ? encode_plain(part, ids) : encode_word(part, ids);
    begin = end;
    if (ids.size() < piece && begin < text.size()) continue;
    take(ids);
    ids.clear();
  }
}

void Encoder::encode_plain(std::string_view text, std::vector<TokenId>& ids) {
  if (tokenizer_->kind() == TokenizerKind::bytes) {
    for (const char byte : text) ids.push_back(tokenizer_->vocabulary().byte(static_cast<unsigned char>(byte)));
    return;
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = word_end(rule_, text, begin);
    encode_word(text.substr(begin, end - begin), ids);
    begin = end;
  }
}

void Encoder::encode_word(std::string_view word, std::vector<TokenId>& ids) {
  if (word.size() > sizeof CachedWord::word) return merge_word(word, ids);
  if (cache_.empty()) cache_.resize(cached_words);
  CachedWord& cached = cache_[hash_bytes(word) % cached_words];
  if (cached.bytes == word.size() && std::memcmp(cached.word.data(), word.data(), word.size()) == 0) {
    ids.insert(ids.end(), cached.ids.begin(), cached.ids.begin() + cached.tokens);
    return;
  }
  const std::size_t before = ids.size();
  merge_word(word, ids);
  const std::size_t count = ids.size() - before;
  if (count > cached.ids.size()) return;
  cached.bytes = static_cast<unsigned char>(word.size());
  cached.tokens = static_cast<unsigned char>(count);
  std::memcpy(cached.word.data(), word.data(), word.size());
  std::memcpy(cached.ids.data(), ids.data() + before, count * sizeof(TokenId));
}

void Encoder::merge_word(std::string_view word, std::vector<TokenId>& ids) {
  if (whole_words_first_) {
    if (const auto id = tokenizer_->vocabulary().find(word)) {
      ids.push_back(*id);
      return;
    }
  }
  merger_.merge(word, ids);
}

}  // namespace lehi::text
