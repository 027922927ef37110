#include "data/bytes.h"

#include <openssl/evp.h>
#define ZLIB_CONST  // zlib then reads from const buffers
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "data/error.h"

namespace lehi::data {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

[[noreturn]] void refuse_size(const std::filesystem::path& file, std::int64_t limit) {
  refuse_data("{} holds more than {} bytes, the most that is read from one file", file.string(), limit);
}

// Reads to the end rather than trusting the size on disk: pipes have none. Stops one chunk past the limit.
std::string read_plain(const std::filesystem::path& file, std::int64_t limit) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream) refuse_data("{} can't be opened: {}", file.string(), std::strerror(errno));
  std::string bytes;
  for (std::size_t size = 0;;) {
    bytes.resize(size + chunk_bytes);
    const std::size_t count = std::fread(bytes.data() + size, 1, chunk_bytes, stream.get());
    size += count;
    bytes.resize(size);
    if (static_cast<std::int64_t>(size) > limit) refuse_size(file, limit);
    if (count < chunk_bytes) break;
  }
  if (std::ferror(stream.get()) != 0) refuse_data("{} can't be read: {}", file.string(), std::strerror(errno));
  return bytes;
}

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

// A gzip file may be several members one after the other; their contents are joined.
std::string gunzip(std::string_view packed, const std::filesystem::path& file, std::int64_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, &inflateEnd);
  std::string bytes;
  for (std::size_t size = 0;;) {
    // zlib counts in 32 bits: both sides go through in chunks.
    const std::size_t available = std::min(packed.size(), chunk_bytes);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib speaks of unsigned bytes
    stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(available);
    bytes.resize(size + chunk_bytes);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + size);
    stream.avail_out = static_cast<uInt>(chunk_bytes);
    const int status = inflate(&stream, Z_NO_FLUSH);
    packed.remove_prefix(available - stream.avail_in);
    size += chunk_bytes - stream.avail_out;
    bytes.resize(size);
    if (static_cast<std::int64_t>(size) > limit) refuse_size(file, limit);
    if (status == Z_STREAM_END) {
      if (packed.empty()) return bytes;
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

}  // namespace

std::string read_bytes(const std::filesystem::path& file, std::int64_t limit) {
  std::string bytes = read_plain(file, limit);
  return is_gzip(bytes) ? gunzip(bytes, file, limit) : bytes;
}

std::string hex_digest(const char* algorithm, std::string_view bytes) {
  const EVP_MD* method = EVP_get_digestbyname(algorithm);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (method == nullptr || EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, method, nullptr) != 1) {
    throw std::runtime_error(fmt::format("libcrypto can't compute {}; is there memory left?", algorithm));
  }
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace lehi::data
