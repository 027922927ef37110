// CRC-32C (Castagnoli, RFC 3720 appendix B.4): the checksum of TensorBoard's event files and of checkpoints.
#pragma once

#include <cstdint>
#include <string_view>

namespace lehi::train {

/// The checksum of `bytes`. With `before`, the checksum of the bytes before them, that of both together.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t before = 0);

}  // namespace lehi::train
