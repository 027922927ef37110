#include "data/bytes.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "data/byte_source.h"
#include "data/error.h"

namespace lehi::data {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

// Reads all of it into `bytes`, with the room that there is; false when there is more.
bool fits(const std::filesystem::path& file, std::int64_t limit, std::string& bytes) {
  ByteSource source(file, limit);
  for (std::size_t size = 0;;) {
    const std::size_t count = source.read(bytes.data() + size, bytes.size() - size);
    size += count;
    if (count == 0) {
      bytes.resize(size);
      return true;
    }
    if (size == bytes.size()) return false;
  }
}

std::size_t count_bytes(const std::filesystem::path& file, std::int64_t limit) {
  ByteSource source(file, limit);
  std::vector<char> scrap(std::size_t{1} << 17);
  std::size_t size = 0;
  while (const std::size_t count = source.read(scrap.data(), scrap.size())) size += count;
  return size;
}

// A pipe has no size and can be read only once.
std::string read_pipe(const std::filesystem::path& file, std::int64_t limit) {
  ByteSource source(file, limit);
  std::string bytes;
  for (std::size_t size = 0;;) {
    bytes.resize(size + chunk_bytes);
    const std::size_t count = source.read(bytes.data() + size, chunk_bytes);
    size += count;
    if (count == 0) {
      bytes.resize(size);
      return bytes;
    }
  }
}

}  // namespace

std::string read_bytes(const std::filesystem::path& file, std::int64_t limit) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) return read_pipe(file, limit);
  std::string bytes;
  if (const auto likely = ByteSource(file, limit).likely_size()) {
    bytes.resize(std::min(*likely, static_cast<std::size_t>(limit)) + 1);  // + 1 shows the end
    if (fits(file, limit, bytes)) return bytes;
  }
  // What says nothing of its size, or lies, is decompressed twice: memory is taken once, for no more than there is.
  do {
    std::string().swap(bytes);
    bytes.resize(count_bytes(file, limit) + 1);
  } while (!fits(file, limit, bytes));
  return bytes;
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
