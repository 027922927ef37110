#include "data/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "base/numbers.h"
#include "data/error.h"

namespace lehi::data {
namespace {

constexpr std::size_t max_columns = 200'000;  // an empty column needs a hundred bytes, too

// Scans a table field by field. Every table is scanned twice: first to validate it, count its rows and find the numeric
// columns, then to store the values. So a table that is rejected needs no memory beyond its own text.
class Scanner {
 public:
  Scanner(std::string& text, const std::string& source) : text_(text), source_(source) {}

  // Calls field(row, column, line of the row, view of the field) for every field and returns the number of rows. The
  // last scan replaces doubled quotes in place by single ones (the result is never longer than its source); earlier
  // scans pass such fields on unchanged.
  template <class Field>
  std::size_t scan(bool last, const Field& field) {
    at_ = text_.starts_with("\xef\xbb\xbf") ? 3 : 0;
    // Empty lines at the end are not rows.
    end_ = text_.find_last_not_of("\r\n") + 1;
    line_ = 1;
    std::size_t row = 0;
    for (; at_ < end_; ++row) {
      const std::int64_t start = line_;
      std::size_t column = 0;
      do {
        field(row, column++, start, at_ < end_ && text_[at_] == '"' ? quoted(last) : plain());
      } while (another_field());
      if (row == 0) width_ = column;
      if (column != width_) {
        throw_data_error("{} line {} has {} fields, but the header has {}", source_, start, column, width_);
      }
    }
    return row;
  }

 private:
  // After a field: skips a comma (true), or a line break or the end of the file (false).
  bool another_field() {
    if (at_ >= end_) return false;
    if (text_[at_] == ',') {
      ++at_;
      return true;
    }
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
    return false;
  }

  bool at_break(std::size_t at) const {
    return at >= end_ || text_[at] == '\n' || (text_[at] == '\r' && at + 1 < end_ && text_[at + 1] == '\n');
  }

  std::string_view plain() {
    const std::size_t start = at_;
    for (; !at_break(at_) && text_[at_] != ','; ++at_) {
      if (text_[at_] == '"') {
        throw_data_error(
            "{} line {} has a quote inside an unquoted field; quote the whole field and double the quotes in it",
            source_, line_);
      }
    }
    std::string_view field(text_.data() + start, at_ - start);
    field.remove_prefix(std::min(field.find_first_not_of(" \t"), field.size()));
    return field.substr(0, field.find_last_not_of(" \t") + 1);
  }

  std::string_view quoted(bool replace_doubled) {
    const std::int64_t start_line = line_;
    const std::size_t start = ++at_;
    std::size_t write = start;
    for (;; ++at_) {
      if (at_ >= end_) throw_data_error("{} line {} has an opening quote that is never closed", source_, start_line);
      if (text_[at_] == '"' && !(at_ + 1 < end_ && text_[at_ + 1] == '"')) break;
      if (text_[at_] == '"') ++at_;
      if (text_[at_] == '\n') ++line_;
      if (replace_doubled) text_[write] = text_[at_];
      ++write;
    }
    ++at_;
    if (!at_break(at_) && text_[at_] != ',')
      throw_data_error("{} line {} has characters after a closing quote", source_, line_);
    return {text_.data() + start, (replace_doubled ? write : at_ - 1) - start};
  }

  std::string& text_;
  const std::string& source_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::int64_t line_ = 1;
  std::size_t width_ = 0;
};

bool is_missing(std::string_view field) {
  static constexpr std::array<std::string_view, 6> names{"", "NA", "N/A", "null", "NULL", "?"};
  return std::find(names.begin(), names.end(), field) != names.end();
}

std::string without_doubled_quotes(std::string_view field) {
  std::string result;
  for (std::size_t i = 0; i < field.size(); ++i) {
    result += field[i];
    if (field[i] == '"') ++i;
  }
  return result;
}

void check_header(const std::vector<std::string>& names, const std::string& source) {
  if (std::all_of(names.begin(), names.end(), [](const auto& name) { return base::parse_number(name).has_value(); })) {
    throw_data_error("{} has no header: its first row has only numbers; add a first line with the columns' names",
                     source);
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) throw_data_error("{} line 1: column {} has no name", source, i + 1);
    if (!seen.insert(names[i]).second) throw_data_error("{} has two columns named '{}'", source, names[i]);
  }
}

// No column may hold a missing value or a number that is not finite.
bool is_invalid(std::string_view field, const std::optional<double>& number) {
  return number ? !std::isfinite(*number) : is_missing(field);
}

std::string message_for(std::string_view field, bool is_number, const std::string& place) {
  return is_number ? fmt::format("{}: '{}' is not a finite float64; correct it or remove the row", place, field)
                   : fmt::format("{}: the value is missing ('{}'); fill it in or remove the row", place, field);
}

}  // namespace

Table read_csv(const std::filesystem::path& file, std::int64_t limit) {
  return parse_csv(read_bytes(file, limit), file.string());
}

Table parse_csv(std::string text, std::string source) {
  if (text.find('\0') != std::string::npos) throw_data_error("{} is not a CSV file: it contains zero bytes", source);
  Table table{std::move(source), {}, {}};
  Scanner scanner(text, table.source);
  std::vector<std::string> names;
  std::vector<bool> has_strings;  // by column
  std::string problem;            // with a field of the current row, reported only if its number of fields is right
  const std::size_t rows = scanner.scan(false, [&](std::size_t row, std::size_t column, std::int64_t line, auto field) {
    if (row == 0) {
      if (column == max_columns) throw_data_error("{} has more than {} columns", table.source, max_columns);
      names.push_back(without_doubled_quotes(field));
      has_strings.push_back(false);
      return;
    }
    if (row == 1 && column == 0) check_header(names, table.source);
    if (column == 0 && !problem.empty()) throw DataError(problem);
    if (column >= names.size() || !problem.empty()) return;  // scan() counts the fields at the end of the row
    const auto number = base::parse_number(field);
    if (!number) has_strings[column] = true;
    if (!is_invalid(field, number)) return;
    const auto place = fmt::format("{} line {}, column '{}'", table.source, line, names[column]);
    problem = message_for(field, number.has_value(), place);
  });
  if (!problem.empty()) throw DataError(problem);
  if (rows == 0) throw_data_error("{} is empty; expected a CSV file with a header", table.source);
  if (rows == 1) {
    check_header(names, table.source);
    throw_data_error("{} has a header but no rows", table.source);
  }
  table.lines.reserve(rows - 1);
  table.columns.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    Column column{std::move(names[i]), {}};
    if (has_strings[i]) column.values = Strings();
    std::visit([&](auto& values) { values.reserve(rows - 1); }, column.values);
    table.columns.push_back(std::move(column));
  }
  scanner.scan(true, [&](std::size_t row, std::size_t column, std::int64_t line, std::string_view field) {
    if (row == 0) return;
    if (column == 0) table.lines.push_back(line);
    auto& values = table.columns[column].values;
    if (has_strings[column]) {
      std::get<Strings>(values).emplace_back(field);
    } else {
      std::get<Numbers>(values).push_back(base::parse_number(field).value());
    }
  });
  return table;
}

}  // namespace lehi::data
