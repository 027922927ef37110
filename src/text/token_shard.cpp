#include "text/token_shard.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "data/error.h"

namespace lehi::text {
namespace {

static_assert(std::endian::native == std::endian::little, "shards are read and written in place");

struct ShardFormat {
  TokenizerKind kind;
  std::int32_t magic;
  std::int32_t version;
  int token_bytes;
};
constexpr std::array<ShardFormat, 3> shard_formats{{{TokenizerKind::gpt2, 20240520, 1, 2},
                                                    {TokenizerKind::llama3, 20240801, 7, 4},
                                                    {TokenizerKind::bytes, 0x6968656c, 1, 2}}};
constexpr const char* aside_mark = ".aside-";

const ShardFormat& format_for(TokenizerKind kind) {
  return *std::find_if(shard_formats.begin(), shard_formats.end(),
                       [kind](const ShardFormat& format) { return format.kind == kind; });
}

[[noreturn]] void refuse_write(const std::filesystem::path& file, int error) {
  data::refuse_data("{} can't be written: {}; free some space or choose another folder", file.string(),
                    std::strerror(error));
}

// A writer holds a lock on its file, and a process that is gone holds none.
void remove_abandoned(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (entry.path().filename().string().find(aside_mark) == std::string::npos) continue;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
    const int descriptor = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) unlink(entry.path().c_str());
    close(descriptor);
  }
}

bool sync_folder(const std::filesystem::path& folder) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): POSIX
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && fsync(descriptor) == 0;
  if (descriptor >= 0) close(descriptor);
  return synced;
}

}  // namespace

ShardHeader read_shard_header(std::string_view bytes, const std::string& where) {
  if (bytes.size() < shard_header_bytes) {
    data::refuse_data("{} has {} bytes, fewer than a token shard's header of {}", where, bytes.size(),
                      shard_header_bytes);
  }
  std::array<std::int32_t, 3> words{};
  std::memcpy(words.data(), bytes.data(), sizeof words);
  for (const ShardFormat& format : shard_formats) {
    if (words[0] != format.magic) continue;
    if (words[1] != format.version) {
      data::refuse_data("{} is a token shard of version {}; {} shards have version {}", where, words[1],
                        name_of(format.kind), format.version);
    }
    const std::int64_t tokens = words[2];
    const auto present = static_cast<std::int64_t>(bytes.size() - shard_header_bytes);
    if (tokens < 0 || tokens * format.token_bytes != present) {
      data::refuse_data("{} says that it holds {} tokens of {} bytes, but {} bytes follow its header", where, tokens,
                        format.token_bytes, present);
    }
    return {format.kind, tokens, format.token_bytes};
  }
  std::vector<std::string> known;
  for (const ShardFormat& format : shard_formats)
    known.push_back(fmt::format("{} ({})", format.magic, name_of(format.kind)));
  data::refuse_data("{} is no token shard: it begins with {}; expected one of {}", where, words[0],
                    fmt::join(known, ", "));
}

ShardWriter::ShardWriter(std::filesystem::path file, TokenizerKind kind) : file_(std::move(file)), kind_(kind) {
  auto folder = file_.parent_path();
  if (folder.empty()) folder = ".";
  remove_abandoned(folder);
  aside_ = (folder / fmt::format(".{}{}XXXXXX", file_.filename().string(), aside_mark)).string();
  descriptor_ = mkostemp(aside_.data(), O_CLOEXEC);
  if (descriptor_ < 0) refuse_write(file_, errno);
  flock(descriptor_, LOCK_EX | LOCK_NB);  // where a file system has no locks, nothing is found abandoned either
  buffer_.assign(shard_header_bytes, '\0');
}

ShardWriter::~ShardWriter() {
  if (descriptor_ < 0) return;
  unlink(aside_.c_str());
  close(descriptor_);
}

void ShardWriter::flush() {
  for (std::string_view rest = buffer_; !rest.empty();) {
    const ssize_t count = ::write(descriptor_, rest.data(), rest.size());
    if (count < 0 && errno != EINTR) refuse_write(file_, errno);
    if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
  }
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
    data::refuse_data("{} would hold more than 2^31 - 1 tokens, the most of one token shard; split the text",
                      file_.string());
  }
  constexpr std::size_t enough = std::size_t{1} << 20;
  if (buffer_.size() >= enough) flush();
}

void ShardWriter::publish() {
  flush();
  const ShardFormat& format = format_for(kind_);
  const std::array<std::int32_t, 3> words{format.magic, format.version, static_cast<std::int32_t>(tokens_)};
  if (pwrite(descriptor_, words.data(), sizeof words, 0) != static_cast<ssize_t>(sizeof words) ||
      fchmod(descriptor_, 0644) != 0 || fsync(descriptor_) != 0 || rename(aside_.c_str(), file_.c_str()) != 0) {
    refuse_write(file_, errno);
  }
  close(descriptor_);
  descriptor_ = -1;
  sync_folder(file_.has_parent_path() ? file_.parent_path() : std::filesystem::path("."));
}

}  // namespace lehi::text
