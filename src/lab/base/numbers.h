// Numbers in strings.
#pragma once

#include <optional>
#include <string_view>

namespace lehi::base {

/// The number that the whole field represents (NaN is possible, and infinity on overflow), or nothing.
std::optional<double> parse_number(std::string_view field);

}  // namespace lehi::base
