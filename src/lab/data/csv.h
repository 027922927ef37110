// Comma-separated tables (RFC 4180): quotes, line breaks inside quotes, CRLF, gzip, a byte order mark.
//
// A header is required. Blanks around an unquoted field do not count. A column whose every value is a number is
// numeric, any other is text. Missing values (empty, NA, N/A, null, NULL, ?), NaN and infinity are refused in every
// column, as are ragged rows; the sentence gives file, line and column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/bytes.h"

namespace lehi::data {

using Numbers = std::vector<double>;
using Texts = std::vector<std::string>;

struct Column {
  std::string name;
  std::variant<Numbers, Texts> values;

  bool numeric() const { return std::holds_alternative<Numbers>(values); }
  const Numbers& numbers() const { return std::get<Numbers>(values); }
  const Texts& texts() const { return std::get<Texts>(values); }
};

struct Table {
  std::string source;  ///< file name, for messages
  std::vector<Column> columns;
  std::vector<std::int64_t> lines;  ///< where each row starts in the file, counted from 1

  std::int64_t rows() const { return static_cast<std::int64_t>(lines.size()); }
};

Table read_csv(const std::filesystem::path& file, std::int64_t limit = default_byte_limit);

/// The same from memory; `source` names the text in messages.
Table parse_csv(std::string text, std::string source);

/// The number that the whole field spells (it may be NaN, or infinite where it overflows), or nothing.
std::optional<double> parse_number(std::string_view field);

}  // namespace lehi::data
