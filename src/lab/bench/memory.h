// The topic "memory": peak memory of training GPT-2 small on 8 x 128 tokens. Each variant runs in a process of its own,
// since a process has one peak.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lehi::bench {

/// "lehi", "low-memory" and "torch".
const std::vector<std::string>& memory_variants();

/// Trains for three steps and returns this process's peak memory in bytes. Throws std::invalid_argument for an unknown
/// variant.
std::int64_t peak_of_steps(const std::string& variant);

}  // namespace lehi::bench
