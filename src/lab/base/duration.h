// Durations for people to read.
#pragma once

#include <string>

namespace lehi::base {

/// "8 s", "2 min 05 s", "1 h 02 min". Negative durations become "0 s".
std::string duration_text(double seconds);

}  // namespace lehi::base
