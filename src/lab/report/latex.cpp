// The LaTeX writer of document.h.
#include <fmt/format.h>

#include <string_view>

#include "report/document.h"

namespace lehi::report {
namespace {

std::string latex_escaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    constexpr std::string_view plus_minus = "±";
    if (text.substr(i).starts_with(plus_minus)) {
      result += "$\\pm$";
      i += plus_minus.size() - 1;
    } else if (c == '\\') {
      result += "\\textbackslash{}";
    } else if (c == '~' || c == '^') {
      result += fmt::format("\\{}{{}}", c);
    } else if (c == '<' || c == '>' || c == '|') {
      result += fmt::format("${}$", c);
    } else if (std::string_view("{}$&#%_").find(c) != std::string_view::npos) {
      result += '\\';
      result += c;
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

// Negative numbers get a minus sign instead of a hyphen.
std::string latex_cell(const std::string& text) {
  const bool negative = text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9';
  return negative ? "$-$" + latex_escaped(text.substr(1)) : latex_escaped(text);
}

struct LatexWriter {
  std::string operator()(const Picture& picture) const {
    return fmt::format("{}: {}\n", latex_escaped(picture.text), latex_escaped(picture.file));
  }
  std::string operator()(const Heading& heading) const {
    const auto* command = heading.level == 1 ? "section" : heading.level == 2 ? "subsection" : "subsubsection";
    return fmt::format("\\{}*{{{}}}\n", command, latex_escaped(heading.text));
  }
  std::string operator()(const Paragraph& paragraph) const { return latex_escaped(paragraph.text) + "\n"; }
  std::string operator()(const Commands& commands) const {
    std::string text = "\\begin{quote}\\ttfamily\\small\\raggedright\n";
    for (const auto& line : commands.lines) text += latex_escaped(line) + "\\par\n";
    return text + "\\end{quote}\n";
  }
  std::string operator()(const List& list) const {
    std::string text = "\\begin{itemize}\n";
    for (const auto& item : list.items) text += "\\item " + latex_escaped(item) + "\n";
    return text + "\\end{itemize}\n";
  }
  std::string operator()(const Table& table) const {
    std::string columns;
    for (const bool right : right_aligned_columns(table)) columns += right ? 'r' : 'l';
    std::string text = fmt::format("\\begin{{center}}\\small\n\\begin{{tabular}}{{{}}}\n\\toprule\n", columns);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      for (std::size_t j = 0; j < table.rows[i].size(); ++j) {
        text += (j > 0 ? " & " : "") + latex_cell(table.rows[i][j]);
      }
      text += i == 0 ? " \\\\\n\\midrule\n" : " \\\\\n";
    }
    return text + "\\bottomrule\n\\end{tabular}\n\\end{center}\n";
  }
};

}  // namespace

std::string to_latex(const Document& document) {
  std::string text = "% \\usepackage[utf8]{inputenc}, \\usepackage{booktabs}\n";
  for (const auto& block : document) text += "\n" + std::visit(LatexWriter(), block);
  return text;
}

}  // namespace lehi::report
