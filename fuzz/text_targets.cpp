// Readers of src/lab/text: vocabularies, text, documents, tokens.
#include <zlib.h>
#include <zstd.h>

#include <algorithm>

#include "data/error.h"
#include "harness.h"
#include "targets.h"
#include "text/documents.h"
#include "text/encoder.h"
#include "text/token_data.h"
#include "text/token_shard.h"
#include "text/tokenizer.h"
#include "text/utf8.h"
#include "text/vocabulary_files.h"
#include "text/words.h"

namespace lehi::fuzz {

using data::DataError;
using text::Tokenizer;
using text::TokenizerKind;

namespace {

constexpr std::string_view sample = "Hello world's 1234 \r\n\t  \xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80 <|endoftext|>'LL";

void check_round_trip(const Tokenizer& tokenizer, std::string_view original) {
  text::Encoder encoder(tokenizer);
  std::vector<text::TokenId> ids;
  for (const auto specials : {text::Specials::reference, text::Specials::as_tokens, text::Specials::as_text}) {
    ids.clear();
    encoder.encode(original, specials, ids);
    require(tokenizer.decode(ids) == original, "decode(encode(text)) differs from the text");
  }
  std::vector<text::TokenId> pieces;
  encoder.encode_text(
      original, [&](std::span<const text::TokenId> some) { pieces.insert(pieces.end(), some.begin(), some.end()); });
  require(pieces == ids, "a text's tokens differ when they are passed on piece by piece");
}

// A vocabulary without files: all bytes, a few merges of English, German and UTF-8, two special tokens.
text::VocabularyParts own_parts() {
  text::VocabularyParts parts;
  for (unsigned byte = 0; byte < 256; ++byte) parts.tokens.emplace_back(std::string(1, static_cast<char>(byte)), byte);
  const std::vector<std::pair<std::string, std::string>> merges = {
      {"t", "h"},       {"th", "e"},      {" ", "t"},           {" t", "h"},  {" th", "e"}, {"a", "a"},
      {"aa", "aa"},     {"e", "r"},       {"i", "n"},           {"in", "g"},  {" ", " "},   {"  ", "  "},
      {"\xc3", "\xa4"}, {"1", "2"},       {"12", "3"},          {"\n", "\n"}, {"'", "s"},   {".", "."},
      {"..", "."},      {"\xe4", "\xb8"}, {"\xe4\xb8", "\xad"}, {"<", "|"},   {"|", ">"},   {"e", "n"}};
  for (const auto& [left, right] : merges) parts.tokens.emplace_back(left + right, parts.tokens.size());
  parts.merges = merges;
  for (const char* special : {"<|endoftext|>", "<|begin_of_text|>"}) {
    parts.specials.emplace_back(special, parts.tokens.size() + parts.specials.size());
  }
  return parts;
}

const Tokenizer& own_tokenizer(TokenizerKind kind) {
  static const Tokenizer gpt2(TokenizerKind::gpt2, text::Vocabulary(own_parts(), "own"), "own");
  static const Tokenizer llama3(TokenizerKind::llama3, text::Vocabulary(own_parts(), "own"), "own");
  static const Tokenizer bytes = Tokenizer::load(TokenizerKind::bytes, "");
  return kind == TokenizerKind::gpt2 ? gpt2 : kind == TokenizerKind::llama3 ? llama3 : bytes;
}

constexpr TokenizerKind all_kinds[] = {TokenizerKind::gpt2, TokenizerKind::llama3, TokenizerKind::bytes};

void use_parts(TokenizerKind kind, const text::VocabularyParts& parts) {
  const auto vocabulary = accepted<DataError>([&] { return text::Vocabulary(parts, "the vocabulary"); });
  if (vocabulary) check_round_trip(Tokenizer(kind, *vocabulary, "fuzz"), sample);
}

std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  require(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool ended = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  require(ended, "zlib");
  return packed;
}

std::string zstd_packed(std::string_view bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 1));
  return packed;
}

using Documents = std::vector<std::string>;

std::optional<Documents> documents_of(std::string_view bytes, text::TextFormat format) {
  const auto file = input_file("documents", bytes);
  return accepted<DataError>([&] {
    Documents documents;
    text::read_documents(file, format, "text", [&](std::string_view document) { documents.emplace_back(document); });
    return documents;
  });
}

std::vector<std::int64_t> all_tokens(const text::TokenData& tokens) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, list);
  return list;
}

}  // namespace

void fuzz_gpt2_files(std::string_view input) {
  const auto files = parts_of(input);
  const auto parts = accepted<DataError>(
      [&] { return text::read_gpt2(files[0], files.size() > 1 ? files[1] : "", "encoder.json with vocab.bpe"); });
  if (parts) use_parts(TokenizerKind::gpt2, *parts);
}

void fuzz_llama3_file(std::string_view input) {
  const auto parts = accepted<DataError>([&] { return text::read_llama3(input, "tokenizer.json"); });
  if (parts) use_parts(TokenizerKind::llama3, *parts);
}

void fuzz_text(std::string_view input) {
  const bool valid = is_utf8(input);
  require((text::first_invalid_utf8(input) == std::string_view::npos) == valid, "the two UTF-8 decoders disagree");
  for (const auto kind : all_kinds) {
    const auto& tokenizer = own_tokenizer(kind);
    const auto encoded = accepted<DataError>([&] { return (check_round_trip(tokenizer, input), true); });
    require(encoded.has_value() == valid, "a text must be encoded if and only if it is UTF-8");
  }
  if (!valid) return;
  for (const auto rule : {text::WordRule::gpt2, text::WordRule::llama3}) {
    for (std::size_t begin = 0; begin < input.size();) {
      const std::size_t end = text::word_end(rule, input, begin);
      require(end > begin && end <= input.size(), "a word is empty or ends after the text");
      require(is_utf8(input.substr(begin, end - begin)), "a word ends inside a character");
      begin = end;
    }
  }
}

void fuzz_documents(std::string_view input) {
  const auto documents = documents_of(input, text::TextFormat::json_lines);
  const auto whole = documents_of(input, text::TextFormat::plain);
  if (whole && !whole->empty()) allow(whole->front().size() + input.size());
  if (!documents) return;
  std::size_t bytes = input.size();
  for (const auto& document : *documents) {
    require(is_utf8(document), "a document is not UTF-8");
    bytes += document.size() + sizeof(std::string);
  }
  allow(2 * bytes);                               // this target keeps them all, twice
  if (!whole || whole->front() != input) return;  // the input itself was compressed
  require(documents_of(gzipped(input), text::TextFormat::json_lines) == documents, "gzip changes documents");
  require(documents_of(zstd_packed(input), text::TextFormat::json_lines) == documents, "zstd changes documents");
}

void fuzz_token_shard(std::string_view input) {
  const auto file = input_file("shard.bin", input);
  for (const auto kind : all_kinds) {
    const auto tokens = accepted<DataError>([&] { return text::TokenData::open(file, kind); });
    if (!tokens) continue;
    const auto list = all_tokens(*tokens);
    allow(input.size() + list.size() * sizeof(list[0]) * 2);
    const auto wrong = [&](std::int64_t token) { return token < 0 || token >= text::vocabulary_size(kind); };
    require(std::none_of(list.begin(), list.end(), wrong), "a token is not in the vocabulary");
    text::ShardWriter writer(own_folder() / "copy.bin", kind);
    const std::vector<text::TokenId> ids(list.begin(), list.end());
    writer.write(ids);
    writer.publish();
    require(all_tokens(text::TokenData::open(own_folder() / "copy.bin", kind)) == list, "a shard's copy differs");
  }
}

}  // namespace lehi::fuzz
