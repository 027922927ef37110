#include "report/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace lehi::report {
namespace {

// The number of characters, not bytes: "±" is one column wide.
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return right ? space + text : text + space;
}

bool looks_like_number(std::string_view text) {
  constexpr std::string_view first = "0123456789+-.±";
  return text.empty() || first.find(text.front()) != std::string_view::npos;
}

std::vector<std::size_t> column_widths(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], display_width(row.at(i)));
  }
  return widths;
}

std::string markdown_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    constexpr std::string_view special = "\\`*_[]|#~";
    if (c == '<') {
      result += "&lt;";
    } else if (c == '>') {
      result += "&gt;";
    } else if (c == '&') {
      result += "&amp;";
    } else if (c == '\n' || c == '\r') {
      result += ' ';
    } else {
      if (special.find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

// Control characters become spaces.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

struct MarkdownWriter {
  std::string operator()(const Picture& picture) const {
    return fmt::format("![{}]({})\n", markdown_escaped(picture.text), one_line(picture.file));
  }
  std::string operator()(const Heading& heading) const {
    return fmt::format("{} {}\n", std::string(static_cast<std::size_t>(heading.level), '#'),
                       markdown_escaped(heading.text));
  }
  std::string operator()(const Paragraph& paragraph) const { return markdown_escaped(paragraph.text) + "\n"; }
  std::string operator()(const Commands& commands) const {
    std::string text = "```sh\n";
    for (const auto& line : commands.lines) text += one_line(line) + "\n";
    return text + "```\n";
  }
  std::string operator()(const List& list) const {
    std::string text;
    for (const auto& item : list.items) text += "- " + markdown_escaped(item) + "\n";
    return text;
  }
  std::string operator()(const Table& table) const {
    const auto right = right_aligned_columns(table);
    std::vector<std::vector<std::string>> rows;
    for (const auto& row : table.rows) {
      auto& cells = rows.emplace_back();
      for (const auto& cell : row) cells.push_back(markdown_escaped(cell));
    }
    const auto widths = column_widths(rows);
    const auto line = [&](const std::vector<std::string>& row) {
      std::string text = "|";
      for (std::size_t i = 0; i < row.size(); ++i) text += fmt::format(" {} |", padded(row[i], widths[i], right[i]));
      return text + "\n";
    };
    std::string text = line(rows.front()) + "|";
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += std::string(widths[i] + (right[i] ? 1 : 2), '-') + (right[i] ? ":|" : "|");
    }
    text += "\n";
    for (std::size_t i = 1; i < rows.size(); ++i) text += line(rows[i]);
    return text;
  }
};

struct TextWriter {
  std::string operator()(const Picture& picture) const {
    return fmt::format("{}: {}\n", one_line(picture.text), one_line(picture.file));
  }
  std::string operator()(const Heading& heading) const {
    return fmt::format("{}\n{}\n", one_line(heading.text),
                       std::string(display_width(heading.text), heading.level == 1 ? '=' : '-'));
  }
  std::string operator()(const Paragraph& paragraph) const { return one_line(paragraph.text) + "\n"; }
  std::string operator()(const Commands& commands) const {
    std::string text;
    for (const auto& line : commands.lines) text += "  " + one_line(line) + "\n";
    return text;
  }
  std::string operator()(const List& list) const {
    std::string text;
    for (const auto& item : list.items) text += "- " + one_line(item) + "\n";
    return text;
  }
  std::string operator()(const Table& table) const {
    const auto right = right_aligned_columns(table);
    const auto widths = column_widths(table.rows);
    std::string text;
    for (const auto& row : table.rows) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        line += fmt::format("{}{}", i > 0 ? "  " : "", padded(one_line(row[i]), widths[i], right[i]));
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }
};

template <class Writer>
std::string write_blocks(const Document& document) {
  std::string text;
  for (const auto& block : document) {
    if (!text.empty()) text += "\n";
    text += std::visit(Writer(), block);
  }
  return text;
}

}  // namespace

std::vector<bool> right_aligned_columns(const Table& table) {
  std::vector<bool> right(table.rows.front().size(), false);
  for (std::size_t column = 0; column < right.size(); ++column) {
    const auto numbers = std::count_if(table.rows.begin() + 1, table.rows.end(),
                                       [&](const auto& row) { return looks_like_number(row.at(column)); });
    const bool text = std::find(table.left.begin(), table.left.end(), table.rows.front()[column]) != table.left.end();
    right[column] = !text && 2 * numbers > static_cast<std::ptrdiff_t>(table.rows.size()) - 1;
  }
  return right;
}

std::string to_markdown(const Document& document) { return write_blocks<MarkdownWriter>(document); }
std::string to_text(const Document& document) { return write_blocks<TextWriter>(document); }

}  // namespace lehi::report
