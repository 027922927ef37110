#include "data/bytes.h"

#include <openssl/evp.h>
#include <sys/stat.h>
#define ZLIB_CONST  // zlib then reads from const buffers
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "data/error.h"

namespace lehi::data {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse_size(const std::filesystem::path& file, std::int64_t limit) {
  refuse_data("{} holds more than {} bytes, the most that is read from one file", file.string(), limit);
}

// Pipes have no size, so what counts is where reading ends; for a file, whose size is known, memory is taken once.
std::string read_plain(const std::filesystem::path& file, std::int64_t limit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream) refuse_data("{} can't be opened: {}", file.string(), std::strerror(errno));
  struct stat status {};
  const bool sized = ::fstat(::fileno(stream.get()), &status) == 0 && S_ISREG(status.st_mode);
  if (sized && status.st_size > limit) refuse_size(file, limit);
  std::string bytes(sized ? static_cast<std::size_t>(status.st_size) + 1 : chunk_bytes, '\0');  // + 1 shows the end
  for (std::size_t size = 0;;) {
    size += std::fread(bytes.data() + size, 1, bytes.size() - size, stream.get());
    if (static_cast<std::int64_t>(size) > limit) refuse_size(file, limit);
    if (size < bytes.size()) {
      bytes.resize(size);
      break;
    }
    bytes.resize(size + chunk_bytes);
  }
  if (std::ferror(stream.get()) != 0) refuse_data("{} can't be read: {}", file.string(), std::strerror(errno));
  return bytes;
}

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// Decompresses all of it into `to`, which has room for `room` bytes, or, where `to` is null, into nothing; the number
// of bytes that it is. Nothing but that is known when they are more than there is room for. A gzip file may be several
// members one after the other; their contents are joined.
std::size_t inflate_all(std::string_view packed, const std::filesystem::path& file, std::int64_t limit, char* to,
                        std::size_t room) {
  const std::size_t packed_size = packed.size();
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, &inflateEnd);
  std::vector<char> scrap(std::size_t{1} << 16);
  for (std::size_t size = 0;;) {
    // zlib counts in 32 bits: both sides go through in chunks.
    const std::size_t available = std::min(packed.size(), chunk_bytes);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib speaks of unsigned bytes
    stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(available);
    const bool kept = to != nullptr && size < room;
    const std::size_t space = kept ? std::min(room - size, chunk_bytes) : scrap.size();
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    stream.next_out = reinterpret_cast<Bytef*>(kept ? to + size : scrap.data());
    stream.avail_out = static_cast<uInt>(space);
    const int status = inflate(&stream, Z_NO_FLUSH);
    packed.remove_prefix(available - stream.avail_in);
    size += space - stream.avail_out;
    if (static_cast<std::int64_t>(size) > limit) refuse_size(file, limit);
    check_expansion(file, static_cast<std::int64_t>(packed_size), static_cast<std::int64_t>(size));
    if (status == Z_STREAM_END) {
      if (packed.empty()) return size;
      if (!is_gzip(packed)) refuse_data("{} has {} stray bytes after its gzip data", file.string(), packed.size());
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR && packed.empty()) {
      refuse_data("{} is truncated: its gzip data ends too early; get the file again", file.string());
    } else if (status != Z_OK) {
      refuse_data("{} is corrupt gzip ({}); get the file again", file.string(),
                  stream.msg != nullptr ? stream.msg : zError(status));
    }
  }
}

// What the last member says of its size, at the end of the file. Often true, and then one pass is enough; it is
// believed only where that much memory is no harm.
std::size_t claimed_size(std::string_view packed) {
  if (packed.size() < 4) return 0;
  std::uint32_t claim = 0;
  std::memcpy(&claim, packed.data() + packed.size() - 4, sizeof claim);
  constexpr std::size_t harmless = std::size_t{56} << 20;
  return claim <= packed.size() + harmless ? claim : 0;
}

std::string gunzip(std::string_view packed, const std::filesystem::path& file, std::int64_t limit) {
  std::string bytes(claimed_size(packed), '\0');
  const std::size_t size = inflate_all(packed, file, limit, bytes.empty() ? nullptr : bytes.data(), bytes.size());
  if (size <= bytes.size() && !bytes.empty()) {
    bytes.resize(size);
    return bytes;
  }
  std::string().swap(bytes);
  bytes.resize(size);
  inflate_all(packed, file, limit, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace

std::string read_bytes(const std::filesystem::path& file, std::int64_t limit) {
  std::string bytes = read_plain(file, limit);
  return is_gzip(bytes) ? gunzip(bytes, file, limit) : bytes;
}

void check_expansion(const std::filesystem::path& file, std::int64_t packed, std::int64_t unpacked) {
  if (unpacked <= free_expansion || unpacked / most_expansion <= packed) return;
  refuse_data(
      "{} decompresses to more than {} times its size, which no honest data does; decompress it yourself if you "
      "trust it",
      file.string(), most_expansion);
}

std::string hex_digest(const char* algorithm, std::string_view bytes) {
  return hex_digest(algorithm, [&] { return std::exchange(bytes, {}); });
}

std::string hex_digest(const char* algorithm, const std::function<std::string_view()>& next) {
  const EVP_MD* method = EVP_get_digestbyname(algorithm);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  bool fine = method != nullptr && context && EVP_DigestInit_ex(context.get(), method, nullptr) == 1;
  for (auto bytes = next(); fine && !bytes.empty(); bytes = next()) {
    fine = EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1;
  }
  if (!fine || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) {
    throw std::runtime_error(fmt::format("libcrypto can't compute {}; is there memory left?", algorithm));
  }
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace lehi::data
