#include "base/numbers.h"

#include <charconv>
#include <limits>
#include <system_error>

namespace lehi::base {

std::optional<double> parse_number(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || end != field.data() + field.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

}  // namespace lehi::base
