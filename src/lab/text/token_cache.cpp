#include "text/token_cache.h"

#include <array>
#include <cstdlib>
#include <system_error>

#include "data/digest.h"
#include "data/error.h"
#include "runtime/message.h"
#include "text/documents.h"
#include "text/encoder.h"
#include "text/regular_file.h"
#include "text/token_shard.h"

namespace lehi::text {
namespace {

namespace fs = std::filesystem;

// Increase it when the same file and vocabulary would give different tokens than before.
constexpr int cache_version = 1;

std::string environment_variable(const char* name) {
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
  // The XDG specification ignores relative paths.
  if (const fs::path folder = environment_variable("XDG_CACHE_HOME"); folder.is_absolute())
    return folder / "lehi/tokens";
  if (const fs::path home = environment_variable("HOME"); !home.empty()) return home / ".cache/lehi/tokens";
  throw_invalid_argument("no directory for the token cache: HOME is not set; set XDG_CACHE_HOME");
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
      // Damaged: written anew below.
    }
  }
  make_directories(folder);
  remove_leftovers(folder);
  if (request.on_message) {
    request.on_message(fmt::format("tokenising {} ({:.1f} MB) with {}; the tokens are cached in {}",
                                   request.file.string(), static_cast<double>(text.size()) / 1e6,
                                   name_of(tokenizer.kind()), cached.string()));
  }
  ShardWriter writer(cached, tokenizer.kind());
  tokenise(request.file, request.field, tokenizer, writer);
  // Compares contents, not times: the clocks of file systems are too coarse to distinguish two writes.
  if (digest_of(RegularFile(request.file)) != digest) {
    data::throw_data_error("{} changed while it was tokenised; run again when no process writes to it",
                           request.file.string());
  }
  writer.publish();
  return TokenData::open(cached, tokenizer);
}

}  // namespace lehi::text
