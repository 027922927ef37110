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

/// LaTeX to be read by \\input: sections, paragraphs, and tables with the rules of the package booktabs.
std::string to_latex(const Document& document);

/// Aligned columns for a terminal.
std::string to_text(const Document& document);

/// Which columns stand on the right: those of numbers.
std::vector<bool> right_columns(const Table& table);

/// A value with the digits that its metric is read to: four decimals for losses, two for accuracies; "diverged" when it
/// is not finite.
std::string metric_number(std::string_view metric, double value);

/// "0.2421 ± 0.0031"; without the spread where that is not finite.
std::string with_spread(std::string_view metric, double value, double spread);

/// "+0.13", "-0.0063": a difference of two values of the metric.
std::string difference_text(std::string_view metric, double difference);

/// A command as a shell would take it, quoted where needed.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace lehi::report
