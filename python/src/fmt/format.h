// What the rooms without LibTorch use of {fmt}, so that the package builds where {fmt} is not installed: "{}", "{:02x}"
// and join(), for text, integers and floating-point numbers, which are written as {fmt} writes them.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace fmt {

template <class... /*Args*/>
using format_string = std::string_view;

namespace detail {

template <class... To>
std::string number_text(To... to) {
  char buffer[64];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), to...).ptr};
}

// The shortest text that reads as the same number; without an exponent from 1e-4 to below 1e16.
template <std::floating_point T>
std::string text_of(T value, std::string_view /*how*/) {
  if (!std::isfinite(value)) return number_text(value);
  std::string scientific = number_text(value, std::chars_format::scientific);
  int exponent = 0;
  std::string_view digits = std::string_view(scientific).substr(scientific.find('e') + 1);
  if (digits.front() == '+') digits.remove_prefix(1);
  std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  return exponent >= -4 && exponent < 16 ? number_text(value, std::chars_format::fixed) : scientific;
}

template <std::integral T>
std::string text_of(T value, std::string_view how) {
  if (how.empty()) return number_text(value);
  // "02x": padded with zeros to this width, in base 16
  std::string text = number_text(value, 16);
  std::size_t width = 0;
  const auto [end, error] = std::from_chars(how.data(), how.data() + how.size() - 1, width);
  if (how.front() != '0' || how.back() != 'x' || error != std::errc() || end != how.data() + how.size() - 1) {
    throw std::logic_error("format: unknown way to write an integer");
  }
  return std::string(width - std::min(width, text.size()), '0') + text;
}

inline std::string text_of(bool value, std::string_view /*how*/) { return value ? "true" : "false"; }
inline std::string text_of(std::string_view value, std::string_view /*how*/) { return std::string(value); }
inline std::string text_of(const char* value, std::string_view /*how*/) { return value; }

// One argument, whose type is known to its function only.
struct Argument {
  const void* value;
  std::string (*text)(const void* value, std::string_view how);
};

template <class T>
Argument argument(const T& value) {
  if constexpr (std::is_array_v<T>) {
    return {&value, [](const void* v, std::string_view how) {
              return text_of(std::string_view(*static_cast<const T*>(v)), how);
            }};
  } else {
    return {&value, [](const void* v, std::string_view how) { return text_of(*static_cast<const T*>(v), how); }};
  }
}

std::string format_all(std::string_view text, const std::vector<Argument>& arguments);

}  // namespace detail

template <class... Args>
std::string format(std::string_view text, const Args&... args) {
  return detail::format_all(text, {detail::argument(args)...});
}

/// The elements' texts with a separator between them.
template <class Iterator>
std::string join(Iterator begin, Iterator end, std::string_view separator) {
  std::string joined;
  for (Iterator at = begin; at != end; ++at) {
    if (at != begin) joined += separator;
    joined += detail::text_of(*at, "");
  }
  return joined;
}

template <class Range>
std::string join(const Range& range, std::string_view separator) {
  return join(range.begin(), range.end(), separator);
}

}  // namespace fmt
