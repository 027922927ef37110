#include "text/tokenizer.h"

#include <utility>

#include "base/failure.h"
#include "data/bytes.h"
#include "data/digest.h"
#include "data/error.h"
#include "data/find_files.h"
#include "runtime/names.h"
#include "text/encoder.h"
#include "text/vocabulary_files.h"

namespace lehi::text {
namespace {

const NameTable<TokenizerKind>& tokenizer_table() {
  static const NameTable<TokenizerKind> names{
      {TokenizerKind::gpt2, "gpt2"}, {TokenizerKind::llama3, "llama3"}, {TokenizerKind::bytes, "bytes"}};
  return names;
}

// The official files have 1 MB and 9 MB.
constexpr std::int64_t vocabulary_limit = std::int64_t{64} << 20;

constexpr TokenId byte_document_start = 0xff;

Vocabulary byte_vocabulary() {
  VocabularyParts parts;
  parts.tokens.reserve(256);
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
  names.reserve(tokenizer_table().size());
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
  contents.reserve(files.size());
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
      throw_invalid_argument("id {} at position {} is not in the vocabulary of {}, whose ids are 0 to {}", ids[i], i,
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
  if (!id) data::throw_data_error("the vocabulary of {} has no special token {}", name_of(kind_), name);
  return *id;
}

}  // namespace lehi::text
