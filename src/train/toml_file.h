// TOML that others may have written: parsed with limits, its values shown in sentences.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#define TOML_ENABLE_FORMATTERS 1
#include <toml++/toml.h>

namespace lehi::train {

/// Parts of a dotted key. The parser itself bounds nested lists and tables, but would nest a table for every part.
inline constexpr std::size_t most_key_parts = 8;

/// Throws ConfigError with line and column where the text is no TOML or passes the limit; `where` names it.
toml::table parse_toml(std::string_view text, const std::string& where);

/// A value as TOML, whole; and for a sentence: cut where it is long.
std::string toml_text(const toml::node& node);
std::string shown_toml(const toml::node& node);

}  // namespace lehi::train
