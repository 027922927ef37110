#include "text/tokenizer.h"

#include <algorithm>
#include <cstring>

#include "base/failure.h"
#include "data/bytes.h"
#include "data/catalogue.h"
#include "data/error.h"
#include "runtime/names.h"
#include "text/utf8.h"
#include "text/vocabulary_files.h"

namespace lehi::text {
namespace {

const NameTable<TokenizerKind>& tokenizer_table() {
  static const NameTable<TokenizerKind> names{
      {TokenizerKind::gpt2, "gpt2"}, {TokenizerKind::llama3, "llama3"}, {TokenizerKind::bytes, "bytes"}};
  return names;
}

// The official files have 1 MB and 9 MB; a larger one is none.
constexpr std::int64_t vocabulary_limit = std::int64_t{64} << 20;

constexpr std::size_t seen_words = std::size_t{1} << 15;  // 2 MiB, the size of a core's second cache

constexpr TokenId byte_document_start = 0xff;

Vocabulary byte_vocabulary() {
  VocabularyParts parts;
  for (unsigned value = 0; value < 256; ++value) {
    parts.tokens.emplace_back(std::string(1, static_cast<char>(value)), value);
  }
  return {parts, "bytes"};
}

}  // namespace

std::string_view name_of(TokenizerKind kind) { return name_in(tokenizer_table(), kind); }

TokenizerKind tokenizer_named(std::string_view name) { return value_in(tokenizer_table(), name, "tokenizer"); }

std::vector<std::string> tokenizer_names() {
  std::vector<std::string> names;
  for (const auto& [kind, name] : tokenizer_table()) names.emplace_back(name);
  return names;
}

std::int64_t vocabulary_size(TokenizerKind kind) {
  if (kind == TokenizerKind::bytes) return 256;
  return kind == TokenizerKind::gpt2 ? 50'257 : 128'256;
}

Tokenizer::Tokenizer(TokenizerKind kind, Vocabulary vocabulary, std::string digest)
    : kind_(kind), vocabulary_(std::move(vocabulary)), digest_(std::move(digest)) {}

Tokenizer Tokenizer::load(TokenizerKind kind, const std::string& data_dir) {
  const base::Activity loading("load a tokenizer");
  if (kind == TokenizerKind::bytes) return {kind, byte_vocabulary(), "bytes"};
  const auto files = data::find_files(data::task_files(name_of(kind)), data_dir);
  std::vector<std::string> contents;
  std::string where;
  std::string digests;
  for (const auto& file : files) {
    contents.push_back(data::read_bytes(file, vocabulary_limit));
    where += (where.empty() ? "" : " with ") + file.string();
    digests += data::hex_digest("sha256", contents.back());
  }
  const VocabularyParts parts = kind == TokenizerKind::gpt2 ? read_gpt2(contents.at(0), contents.at(1), where)
                                                            : read_llama3(contents.at(0), where);
  return {kind, Vocabulary(parts, where), data::hex_digest("sha256", digests)};
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, Specials specials) const {
  std::vector<TokenId> ids;
  Encoder(*this).encode(text, specials, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const TokenId> ids) const {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= vocabulary_.size()) {
      throw_invalid_argument("id {} at place {} is not in the vocabulary of {}, whose ids go from 0 to {}", ids[i], i,
                             name_of(kind_), vocabulary_.size() - 1);
    }
    text += vocabulary_.bytes(ids[i]);
  }
  return text;
}

TokenId Tokenizer::document_start() const {
  if (kind_ == TokenizerKind::bytes) return byte_document_start;
  const char* name = kind_ == TokenizerKind::gpt2 ? "<|endoftext|>" : "<|begin_of_text|>";
  const auto id = vocabulary_.special(name);
  if (!id) data::refuse_data("the vocabulary of {} has no special token {}", name_of(kind_), name);
  return *id;
}

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
  if (word.size() > sizeof SeenWord::word) return merge_word(word, ids);
  if (seen_.empty()) seen_.resize(seen_words);
  SeenWord& seen = seen_[hash_bytes(word) % seen_words];
  if (seen.bytes == word.size() && std::memcmp(seen.word.data(), word.data(), word.size()) == 0) {
    ids.insert(ids.end(), seen.ids.begin(), seen.ids.begin() + seen.tokens);
    return;
  }
  const std::size_t before = ids.size();
  merge_word(word, ids);
  const std::size_t count = ids.size() - before;
  if (count > seen.ids.size()) return;
  seen.bytes = static_cast<unsigned char>(word.size());
  seen.tokens = static_cast<unsigned char>(count);
  std::memcpy(seen.word.data(), word.data(), word.size());
  std::memcpy(seen.ids.data(), ids.data() + before, count * sizeof(TokenId));
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
