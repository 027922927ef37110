// load_tokens(): from text to a file of tokens, through the cache.
#include <array>
#include <cstdlib>

#include "data/bytes.h"
#include "data/error.h"
#include "runtime/message.h"
#include "text/token_data.h"
#include "text/token_shard.h"

namespace lehi::text {
namespace {

namespace fs = std::filesystem;

// To be raised when the same file and vocabulary would give other tokens than before.
constexpr int cache_version = 1;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

fs::path cached_file(const fs::path& folder, const TokenRequest& request, TextFormat format, const Tokenizer& tokenizer,
                     const std::string& file_digest) {
  const std::string field = format == TextFormat::json_lines ? "json " + request.field : "plain";
  const std::string key = fmt::format("{}\n{}\n{}\n{}\n{}", cache_version, name_of(tokenizer.kind()),
                                      tokenizer.digest(), file_digest, field);
  return folder / (data::hex_digest("sha256", key) + ".bin");
}

void tokenise(const fs::path& text, const std::string& field, const Tokenizer& tokenizer, ShardWriter& writer) {
  const TextFormat format = format_of(text);
  Encoder encoder(tokenizer);
  read_documents(text, format, field, [&](std::string_view document) {
    if (format == TextFormat::json_lines) writer.write(std::array{tokenizer.document_start()});
    encoder.encode_text(
        document, [&](std::span<const TokenId> ids) { writer.write(ids); }, text.string());
  });
}

}  // namespace

fs::path token_cache_directory(const std::string& chosen) {
  if (!chosen.empty()) return chosen;
  // XDG: a relative path in the variable counts as unset.
  if (const fs::path folder = variable("XDG_CACHE_HOME"); folder.is_absolute()) return folder / "lehi/tokens";
  if (const fs::path home = variable("HOME"); !home.empty()) return home / ".cache/lehi/tokens";
  throw_invalid_argument("no folder for the cache of tokens: HOME is not set; set XDG_CACHE_HOME");
}

std::int64_t write_tokens(const fs::path& text, const std::string& field, const Tokenizer& tokenizer,
                          const fs::path& shard) {
  ShardWriter writer(shard, tokenizer.kind());
  tokenise(text, field, tokenizer, writer);
  writer.publish();
  return writer.tokens();
}

TokenData load_tokens(const TokenRequest& request, const Tokenizer& tokenizer) {
  const TextFormat format = format_of(request.file);
  if (format == TextFormat::shard) return TokenData::open(request.file, tokenizer);
  const fs::path folder = token_cache_directory(request.cache_dir);
  const RegularFile text(request.file);
  const std::string digest = digest_of(text);
  const fs::path cached = cached_file(folder, request, format, tokenizer, digest);
  if (std::error_code ignored; fs::exists(cached, ignored)) {
    try {
      return TokenData::open(cached, tokenizer);
    } catch (const data::DataError&) {
      // Damaged: made again below.
    }
  }
  make_directories(folder);
  remove_leftovers(folder);
  if (request.on_message) {
    request.on_message(fmt::format("tokenising {} ({:.1f} MB) with {}; kept in the cache at {}", request.file.string(),
                                   static_cast<double>(text.size()) / 1e6, name_of(tokenizer.kind()), cached.string()));
  }
  ShardWriter writer(cached, tokenizer.kind());
  tokenise(request.file, request.field, tokenizer, writer);
  // By contents, not by time: clocks of file systems are too coarse to tell two writes apart.
  if (digest_of(RegularFile(request.file)) != digest) {
    data::refuse_data("{} changed while it was tokenised; run again when nothing writes to it", request.file.string());
  }
  writer.publish();
  return TokenData::open(cached, tokenizer);
}

}  // namespace lehi::text
