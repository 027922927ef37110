#include "data/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <utility>

namespace lehi::data {

std::string hex_digest(const char* algorithm, std::string_view bytes) {
  return hex_digest(algorithm, [&] { return std::exchange(bytes, {}); });
}

std::string hex_digest(const char* algorithm, const std::function<std::string_view()>& next) {
  const EVP_MD* method = EVP_get_digestbyname(algorithm);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  bool ok = method != nullptr && context && EVP_DigestInit_ex(context.get(), method, nullptr) == 1;
  for (auto bytes = next(); ok && !bytes.empty(); bytes = next()) {
    ok = EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1;
  }
  if (!ok || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) {
    throw std::runtime_error(fmt::format(
        "libcrypto can't compute the digest {}: either it does not have this algorithm or memory is short", algorithm));
  }
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

}  // namespace lehi::data
