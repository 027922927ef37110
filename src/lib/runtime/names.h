// Names of enumeration values: one table per enumeration, for both directions.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/message.h"

namespace lehi {

template <class E>
using NameTable = std::vector<std::pair<E, std::string_view>>;

template <class E>
std::string_view name_in(const NameTable<E>& table, E value) {
  for (const auto& [entry, text] : table) {
    if (entry == value) return text;
  }
  throw_invalid_argument("enumeration value {} has no name: this is a bug in lehi", static_cast<int>(value));
}

/// The value with this name; otherwise throws with the known names. `what` is the noun of the message: "optimizer",
/// "probe", ...
template <class E>
E value_in(const NameTable<E>& table, std::string_view text, std::string_view what) {
  std::vector<std::string_view> known;
  for (const auto& [value, entry] : table) {
    if (entry == text) return value;
    known.push_back(entry);
  }
  throw_invalid_argument("unknown {} '{}': expected one of {}", what, text, fmt::join(known, ", "));
}

}  // namespace lehi
