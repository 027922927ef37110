// A report as data (headings, paragraphs, commands, lists, tables, pictures) and its writers: Markdown, LaTeX, plain
// text.
#pragma once

#include <string>
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

/// Command lines to copy.
struct Commands {
  std::vector<std::string> lines;
};

struct List {
  std::vector<std::string> items;
};

/// The first row is the header; all rows have the same number of cells. See right_aligned_columns() for the alignment.
struct Table {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> left = {};  ///< headers of columns that are never right-aligned
};

/// A picture in a file of its own. LaTeX and plain text name the file only.
struct Picture {
  std::string file;  ///< relative to the document; no white space or brackets
  std::string text;  ///< shown where the picture can't be
};

using Block = std::variant<Heading, Paragraph, Commands, List, Table, Picture>;
using Document = std::vector<Block>;

/// GitHub's Markdown. All strings are escaped: none can become markup or HTML.
std::string to_markdown(const Document& document);

/// LaTeX for \\input; its tables need the package booktabs.
std::string to_latex(const Document& document);

/// Plain text with aligned columns, for a terminal.
std::string to_text(const Document& document);

/// For each column: true when more than half of its cells are empty or begin like a number (a digit, a sign, "±" or
/// "."), unless its header is listed in `left`.
std::vector<bool> right_aligned_columns(const Table& table);

}  // namespace lehi::report
