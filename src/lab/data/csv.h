// Comma-separated tables (RFC 4180): quotes, line breaks inside quotes, CRLF, gzip, a byte order mark.
//
// A header is required. Spaces and tabs around an unquoted field are ignored. A column whose values are all numbers is
// numeric, any other has string values. Missing values (empty, NA, N/A, null, NULL, ?), NaN and infinity are rejected
// in every column, as are rows with too few or too many fields; the message gives file, line and column.
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
using Strings = std::vector<std::string>;

struct Column {
  std::string name;
  std::variant<Numbers, Strings> values;

  bool numeric() const { return std::holds_alternative<Numbers>(values); }
  const Numbers& numbers() const { return std::get<Numbers>(values); }
  const Strings& strings() const { return std::get<Strings>(values); }
};

struct Table {
  std::string source;  ///< the file's name, for messages
  std::vector<Column> columns;
  std::vector<std::int64_t> lines;  ///< the line of the file on which each row starts, counted from 1

  std::int64_t rows() const { return static_cast<std::int64_t>(lines.size()); }
};

/// Throws DataError for a file that can't be read, has more than `limit` bytes or is not such a table.
Table read_csv(const std::filesystem::path& file, std::int64_t limit = default_byte_limit);

/// The same for a table in memory; messages name it `source`.
Table parse_csv(std::string text, std::string source);

}  // namespace lehi::data
