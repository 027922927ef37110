// A report as data: headings, paragraphs, commands and tables, which the writers below only format.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lehi::report {

struct Heading {
  int level = 1;
  std::string text;
};

struct Paragraph {
  std::string text;
};

/// Lines that a reader may type.
struct Commands {
  std::vector<std::string> lines;
};

struct List {
  std::vector<std::string> items;
};

/// The first row is the header; all rows have as many cells. Columns of numbers, and of what begins like one, stand on
/// the right unless they are listed in `left`.
struct Table {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> left = {};  ///< headers
};

using Block = std::variant<Heading, Paragraph, Commands, List, Table>;
using Document = std::vector<Block>;

/// GitHub's Markdown. Texts are shown as they are: nothing in them becomes markup or HTML.
std::string to_markdown(const Document& document);

/// Aligned columns for a terminal.
std::string to_text(const Document& document);

/// A value with the digits that its metric is read to: four decimals for losses, two for accuracies; "diverged" when it
/// is not finite.
std::string metric_number(std::string_view metric, double value);

/// "0.2421 ± 0.0031"; without the spread where that is not finite.
std::string with_spread(std::string_view metric, double value, double spread);

/// A command as a shell would take it, quoted where needed.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace lehi::report
