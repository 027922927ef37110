// Ranges of numbers that a user sets.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "runtime/message.h"

namespace lehi {

// The largest double below 1 and the smallest above 0 turn closed intervals into open ones.
inline const double below_one = std::nextafter(1.0, 0.0);
inline constexpr double above_zero = std::numeric_limits<double>::denorm_min();

inline void check_range(std::string_view field, double value, double low, double high, std::string_view range) {
  if (!(value >= low && value <= high)) throw_invalid_argument("{} is {}, but must be {}", field, value, range);
}

}  // namespace lehi
