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

// The fields of a file, row after row: views into its text.
struct Cells {
  std::vector<std::string_view> fields;
  std::vector<std::int64_t> lines;  // where each row starts
  std::size_t width = 0;            // fields in a row
};

// Cuts the text into fields. Doubled quotes are undone in place: the result is never longer than its source.
class Scanner {
 public:
  Scanner(std::string& text, const std::string& source) : text_(text), source_(source) {}

  Cells scan() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;
    // Empty lines at the end are no rows.
    end_ = text_.find_last_not_of("\r\n") + 1;
    while (at_ < end_) row();
    return std::move(cells_);
  }

 private:
  void row() {
    const std::int64_t start = line_;
    const std::size_t before = cells_.fields.size();
    do {
      cells_.fields.push_back(at_ < end_ && text_[at_] == '"' ? quoted() : plain());
    } while (another_field());
    const std::size_t count = cells_.fields.size() - before;
    if (cells_.lines.empty()) cells_.width = count;
    if (count != cells_.width) {
      refuse_data("{} line {} has {} fields where the header has {}", source_, start, count, cells_.width);
    }
    cells_.lines.push_back(start);
  }

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

  std::string_view quoted() {
    const std::int64_t start_line = line_;
    const std::size_t start = ++at_;
    std::size_t write = start;
    for (;; ++at_) {
      if (at_ >= end_) refuse_data("{} line {} opens a quote that is never closed", source_, start_line);
      if (text_[at_] == '"' && !(at_ + 1 < end_ && text_[at_ + 1] == '"')) break;
      if (text_[at_] == '"') ++at_;
      if (text_[at_] == '\n') ++line_;
      text_[write++] = text_[at_];
    }
    ++at_;
    if (!at_break(at_) && text_[at_] != ',') refuse_data("{} line {} has text after a closing quote", source_, line_);
    return {text_.data() + start, write - start};
  }

  std::string& text_;
  const std::string& source_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::int64_t line_ = 1;
  Cells cells_;
};

bool is_missing(std::string_view field) {
  static constexpr std::array<std::string_view, 6> names{"", "NA", "N/A", "null", "NULL", "?"};
  return std::find(names.begin(), names.end(), field) != names.end();
}

std::vector<std::string> header(const Cells& cells, const std::string& source) {
  std::vector<std::string> names(cells.fields.begin(), cells.fields.begin() + static_cast<long>(cells.width));
  if (std::all_of(names.begin(), names.end(), [](const auto& name) { return parse_number(name).has_value(); })) {
    refuse_data("{} has no header: its first row is all numbers; add a first line that names the columns", source);
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) refuse_data("{} line 1 gives column {} no name", source, i + 1);
    if (!seen.insert(names[i]).second) refuse_data("{} has two columns named '{}'", source, names[i]);
  }
  return names;
}

Column column(const Cells& cells, std::size_t index, std::string name, const std::string& source) {
  Numbers numbers;
  numbers.reserve(cells.lines.size() - 1);
  bool numeric = true;
  for (std::size_t row = 1; row < cells.lines.size(); ++row) {
    const std::string_view field = cells.fields[row * cells.width + index];
    if (is_missing(field)) {
      refuse_data("{} line {}, column '{}': the value is missing ('{}'); fill it in or remove the row", source,
                  cells.lines[row], name, field);
    }
    const auto number = parse_number(field);
    if (number && !std::isfinite(*number)) {
      refuse_data("{} line {}, column '{}': '{}' is not a finite number that a double holds; fix it or remove the row",
                  source, cells.lines[row], name, field);
    }
    numeric = numeric && number;
    if (numeric) numbers.push_back(*number);
  }
  if (numeric) return {std::move(name), std::move(numbers)};
  Texts texts;
  texts.reserve(cells.lines.size() - 1);
  for (std::size_t row = 1; row < cells.lines.size(); ++row) {
    texts.emplace_back(cells.fields[row * cells.width + index]);
  }
  return {std::move(name), std::move(texts)};
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
  const Cells cells = Scanner(text, source).scan();
  if (cells.lines.empty()) refuse_data("{} is empty; a CSV file with a header was expected", source);
  std::vector<std::string> names = header(cells, source);
  if (cells.lines.size() == 1) refuse_data("{} has a header but no rows", source);
  Table table{std::move(source), {}, {cells.lines.begin() + 1, cells.lines.end()}};
  for (std::size_t i = 0; i < cells.width; ++i) {
    table.columns.push_back(column(cells, i, std::move(names[i]), table.source));
  }
  return table;
}

}  // namespace lehi::data
