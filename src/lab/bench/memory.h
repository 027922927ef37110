// Peak memory of GPT-2 small on 8 x 128 tokens, each way in a process of its own, so that peaks don't mix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lehi::bench {

/// "lehi", "low-memory" and "torch".
const std::vector<std::string>& memory_ways();

/// What such a process does: three steps, then its peak in bytes. Throws std::invalid_argument for an unknown way.
std::int64_t peak_of_steps(const std::string& way);

}  // namespace lehi::bench
