// Philox4x32-10, the counter-based random generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
// as 1, 2, 3" (SC 2011): a block cipher applied to a counter. The result depends on (counter, key) only; there is no
// state. The layout of the counter is in kernels/draws.h.
#pragma once

#include <array>
#include <cstdint>

namespace lehi::kernels {

using PhiloxBlock = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

constexpr int philox_round_count = 10;
constexpr std::uint64_t philox_multiplier0 = 0xD2511F53;
constexpr std::uint64_t philox_multiplier1 = 0xCD9E8D57;

constexpr PhiloxBlock philox_round(PhiloxBlock counter, PhiloxKey key) {
  const std::uint64_t product0 = philox_multiplier0 * counter[0];
  const std::uint64_t product1 = philox_multiplier1 * counter[2];
  return {static_cast<std::uint32_t>(product1 >> 32U) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
          static_cast<std::uint32_t>(product0 >> 32U) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
}

/// The key of the next round.
constexpr PhiloxKey next_key(PhiloxKey key) {
  constexpr std::uint32_t weyl0 = 0x9E3779B9;  // golden ratio
  constexpr std::uint32_t weyl1 = 0xBB67AE85;  // sqrt(3) - 1
  return {key[0] + weyl0, key[1] + weyl1};
}

constexpr PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < philox_round_count; ++round) {
    counter = philox_round(counter, key);
    key = next_key(key);
  }
  return counter;
}

}  // namespace lehi::kernels
