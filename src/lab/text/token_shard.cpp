#include "text/token_shard.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "data/error.h"

namespace lehi::text {
namespace {

static_assert(std::endian::native == std::endian::little, "shards are read and written without byte swapping");

struct ShardFormat {
  TokenizerKind kind;
  std::int32_t magic;
  std::int32_t version;
  int token_bytes;
};
constexpr std::array<ShardFormat, 3> shard_formats{{{TokenizerKind::gpt2, 20240520, 1, 2},
                                                    {TokenizerKind::llama3, 20240801, 7, 4},
                                                    {TokenizerKind::bytes, 0x6968656c, 1, 2}}};

const ShardFormat& format_for(TokenizerKind kind) {
  return *std::find_if(shard_formats.begin(), shard_formats.end(),
                       [kind](const ShardFormat& format) { return format.kind == kind; });
}

}  // namespace

ShardHeader read_shard_header(std::string_view bytes, std::int64_t size, const std::string& where) {
  if (bytes.size() < shard_header_bytes) {
    data::throw_data_error("{} has {} bytes; the header of a token shard alone has {}", where, bytes.size(),
                           shard_header_bytes);
  }
  std::array<std::int32_t, 3> words{};
  std::memcpy(words.data(), bytes.data(), sizeof words);
  for (const ShardFormat& format : shard_formats) {
    if (words[0] != format.magic) continue;
    if (words[1] != format.version) {
      data::throw_data_error("{} is a token shard of version {}; {} shards have version {}", where, words[1],
                             name_of(format.kind), format.version);
    }
    const std::int64_t tokens = words[2];
    const auto present = size - static_cast<std::int64_t>(shard_header_bytes);
    if (tokens < 0 || tokens * format.token_bytes != present) {
      data::throw_data_error("{} declares {} tokens of {} bytes, but {} bytes follow its header", where, tokens,
                             format.token_bytes, present);
    }
    return {format.kind, tokens, format.token_bytes};
  }
  std::vector<std::string> known;
  known.reserve(shard_formats.size());
  for (const ShardFormat& format : shard_formats)
    known.push_back(fmt::format("{} ({})", format.magic, name_of(format.kind)));
  data::throw_data_error("{} is not a token shard: it begins with {}; expected one of {}", where, words[0],
                         fmt::join(known, ", "));
}

ShardWriter::ShardWriter(const std::filesystem::path& file, TokenizerKind kind)
    : pending_((remove_leftovers_of(file), file)), kind_(kind), buffer_(shard_header_bytes, '\0') {}

void ShardWriter::flush() {
  pending_.file().write(buffer_);
  buffer_.clear();
}

void ShardWriter::write(std::span<const TokenId> ids) {
  const auto bytes = static_cast<std::size_t>(format_for(kind_).token_bytes);
  for (const TokenId id : ids) {
    std::array<char, sizeof id> word{};
    std::memcpy(word.data(), &id, sizeof id);
    buffer_.append(word.data(), bytes);
  }
  tokens_ += static_cast<std::int64_t>(ids.size());
  if (tokens_ > std::numeric_limits<std::int32_t>::max()) {
    data::throw_data_error("{} would hold more than 2^31 - 1 tokens, the limit of a token shard; split the text",
                           pending_.path().string());
  }
  constexpr std::size_t enough = std::size_t{1} << 20;
  if (buffer_.size() >= enough) flush();
}

void ShardWriter::publish() {
  flush();
  const ShardFormat& format = format_for(kind_);
  const std::array<std::int32_t, 3> words{format.magic, format.version, static_cast<std::int32_t>(tokens_)};
  std::array<char, sizeof words> bytes{};
  std::memcpy(bytes.data(), words.data(), sizeof words);
  pending_.file().write_at(0, {bytes.data(), bytes.size()});
  pending_.publish();
}

}  // namespace lehi::text
