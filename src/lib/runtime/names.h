// Enumerations with names: one table each, looked up both ways.
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
  throw_invalid_argument("value {} is not in the table of names: the program is inconsistent", static_cast<int>(value));
}

/// `what` is the noun of the message: "optimizer", "probe", ...
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
