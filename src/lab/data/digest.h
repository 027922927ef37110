// Digests (SHA-256, MD5) by libcrypto.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace lehi::data {

/// Lower-case hexadecimal digest; `algorithm` is "sha256" or "md5".
std::string hex_digest(const char* algorithm, std::string_view bytes);

/// The digest of all pieces that `next` returns, up to the first empty one.
std::string hex_digest(const char* algorithm, const std::function<std::string_view()>& next);

}  // namespace lehi::data
