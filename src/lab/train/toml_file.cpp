#include "train/toml_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "train/config.h"

namespace lehi::train {
namespace {

constexpr std::size_t kLongestShown = 200;

// The end of the quoted string that begins at `at`: after its closing quote, or the end of the line or document.
std::size_t after_quotes(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool many_lines = text.substr(at, 3) == three;
  for (at += many_lines ? 3 : 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (many_lines ? text.substr(at, 3) == three : text[at] == quote) {
      return at + (many_lines ? 3 : 1);
    } else if (!many_lines && text[at] == '\n') {
      return at;
    }
  }
  return text.size();
}

// The line of a key with too many parts, or 0. Counts the dots between two separators of keys and values.
std::size_t line_of_long_key(std::string_view text) {
  std::size_t line = 1;
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      const std::size_t end = after_quotes(text, at);
      line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                  text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      at = end;
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '.') {
      if (++dots >= most_key_parts) return line;
    } else if (std::string_view("=,{}[]\n").find(c) != std::string_view::npos) {
      dots = 0;
    }
    if (c == '\n') ++line;
    ++at;
  }
  return 0;
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::string& where) {
  if (const auto line = line_of_long_key(text); line != 0) {
    throw ConfigError(fmt::format("{}, line {}: a key has more than {} parts", where, line, most_key_parts));
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw ConfigError(fmt::format("{}, line {}, column {}: {}", where, error.source().begin.line,
                                  error.source().begin.column, error.description()));
  }
}

std::string toml_literal(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      text += fmt::format("\\u{:04X}", byte);
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string toml_literal(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Not with toml++ 3.3's formatter, which casts negative logarithms to unsigned: undefined behaviour for 0.001.
std::string toml_text(const toml::node& node) {
  std::string text;
  const auto add = [&text](const std::string& piece) { text += (text.size() == 1 ? "" : ", ") + piece; };
  if (const auto* list = node.as_array()) {
    text = "[";
    for (const auto& value : *list) add(toml_text(value));
    return text + "]";
  }
  if (const auto* table = node.as_table()) {
    text = "{";
    for (const auto& [key, value] : *table) add(toml_literal(key.str()) + " = " + toml_text(value));
    return text + "}";
  }
  if (const auto* value = node.as_string()) return toml_literal(value->get());
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_floating_point()) return toml_literal(value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
  std::ostringstream stream;
  if (const auto* value = node.as_date()) stream << value->get();
  if (const auto* value = node.as_time()) stream << value->get();
  if (const auto* value = node.as_date_time()) stream << value->get();
  return stream.str();
}

std::string shown_toml(const toml::node& node) {
  auto text = toml_text(node);
  return text.size() <= kLongestShown ? text : text.substr(0, kLongestShown) + "...";
}

}  // namespace lehi::train
