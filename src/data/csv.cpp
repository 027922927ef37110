#include "data/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "data/error.h"

namespace lehi::data {
namespace {

constexpr std::size_t most_columns = 200'000;  // each takes a hundred bytes, whatever is in it

// Walks over a text, field by field. A file is walked over twice, first to learn how many rows it has and which columns
// are numbers, then to take the values: what is kept in between is a flag a column, not a view a field.
class Scanner {
 public:
  Scanner(std::string& text, const std::string& source) : text_(text), source_(source) {}

  // Calls field(row, column, line of the row, view of the field) for every field and returns the number of rows. In the
  // last walk doubled quotes are undone in place (the result is never longer than its source); before, such a field
  // is shown as it stands.
  template <class Field>
  std::size_t walk(bool last, const Field& field) {
    at_ = text_.starts_with("\xef\xbb\xbf") ? 3 : 0;
    // Empty lines at the end are no rows.
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
        refuse_data("{} line {} has {} fields where the header has {}", source_, start, column, width_);
      }
    }
    return row;
  }

 private:
  // After a field: skips its comma (true), or its line break or the end of the file (false).
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
        refuse_data(
            "{} line {} has a quote inside an unquoted field; quote the whole field and double the quotes in it",
            source_, line_);
      }
    }
    std::string_view field(text_.data() + start, at_ - start);
    field.remove_prefix(std::min(field.find_first_not_of(" \t"), field.size()));
    return field.substr(0, field.find_last_not_of(" \t") + 1);
  }

  std::string_view quoted(bool undo) {
    const std::int64_t start_line = line_;
    const std::size_t start = ++at_;
    std::size_t write = start;
    for (;; ++at_) {
      if (at_ >= end_) refuse_data("{} line {} opens a quote that is never closed", source_, start_line);
      if (text_[at_] == '"' && !(at_ + 1 < end_ && text_[at_ + 1] == '"')) break;
      if (text_[at_] == '"') ++at_;
      if (text_[at_] == '\n') ++line_;
      if (undo) text_[write] = text_[at_];
      ++write;
    }
    ++at_;
    if (!at_break(at_) && text_[at_] != ',') refuse_data("{} line {} has text after a closing quote", source_, line_);
    return {text_.data() + start, (undo ? write : at_ - 1) - start};
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

void check_header(const std::vector<Column>& columns, const std::string& source) {
  const auto is_number = [](const Column& column) { return parse_number(column.name).has_value(); };
  if (std::all_of(columns.begin(), columns.end(), is_number)) {
    refuse_data("{} has no header: its first row is all numbers; add a first line that names the columns", source);
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns[i].name;
    if (name.empty()) refuse_data("{} line 1 gives column {} no name", source, i + 1);
    if (!seen.insert(name).second) refuse_data("{} has two columns named '{}'", source, name);
  }
}

void refuse_missing(const std::string& source, std::int64_t line, const std::string& name, std::string_view field) {
  refuse_data("{} line {}, column '{}': the value is missing ('{}'); fill it in or remove the row", source, line, name,
              field);
}

void take_field(Column& column, std::string_view field, std::int64_t line, const std::string& source) {
  if (is_missing(field)) refuse_missing(source, line, column.name, field);
  const auto number = parse_number(field);
  if (number && !std::isfinite(*number)) {
    refuse_data("{} line {}, column '{}': '{}' is not a finite number that a double holds; fix it or remove the row",
                source, line, column.name, field);
  }
  if (column.numeric()) {
    std::get<Numbers>(column.values).push_back(*number);
  } else {
    std::get<Texts>(column.values).emplace_back(field);
  }
}

}  // namespace

std::optional<double> parse_number(std::string_view field) {
  if (field.starts_with('+') && !field.starts_with("+-")) field.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (field.empty() || end != field.data() + field.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

Table read_csv(const std::filesystem::path& file, std::int64_t limit) {
  return parse_csv(read_bytes(file, limit), file.string());
}

Table parse_csv(std::string text, std::string source) {
  if (text.find('\0') != std::string::npos) refuse_data("{} is not a CSV file: it has zero bytes in it", source);
  Table table{std::move(source), {}, {}};
  Scanner scanner(text, table.source);
  std::vector<bool> texts;  // by column
  const std::size_t rows = scanner.walk(false, [&](std::size_t row, std::size_t column, std::int64_t, auto field) {
    if (row == 0) {
      if (column == most_columns) refuse_data("{} has more than {} columns", table.source, most_columns);
      texts.push_back(false);
    } else if (column < texts.size() && !texts[column]) {
      texts[column] = !parse_number(field);
    }
  });
  if (rows == 0) refuse_data("{} is empty; a CSV file with a header was expected", table.source);
  table.lines.reserve(rows - 1);
  for (const bool text_column : texts) {
    Column column;
    if (text_column) column.values = Texts();
    std::visit([&](auto& values) { values.reserve(rows - 1); }, column.values);
    table.columns.push_back(std::move(column));
  }
  scanner.walk(true, [&](std::size_t row, std::size_t column, std::int64_t line, std::string_view field) {
    if (row == 0) {
      table.columns[column].name = field;
      if (column + 1 == table.columns.size()) {
        check_header(table.columns, table.source);
        if (rows == 1) refuse_data("{} has a header but no rows", table.source);
      }
      return;
    }
    if (column == 0) table.lines.push_back(line);
    take_field(table.columns[column], field, line, table.source);
  });
  return table;
}

}  // namespace lehi::data
