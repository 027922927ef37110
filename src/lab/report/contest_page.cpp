// The HTML writer of contest_report.h: the document of contest_document() with its pictures inside.
#include <fmt/format.h>

#include "plot/svg.h"
#include "plot/text.h"
#include "report/contest_report.h"

namespace lehi::report {

using plot::escape;

namespace {

constexpr auto page_head =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>Contest</title>\n<style>\n"
    "body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }\n"
    ".table { overflow-x: auto; }\n"
    "table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }\n"
    "th, td { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: left; white-space: nowrap; }\n"
    ".number { text-align: right; }\n"
    "td.long { white-space: normal; min-width: 24rem; }\n"
    "svg { max-width: 100%; height: auto; }\n"
    "pre { background: #f5f5f5; padding: .6rem; overflow-x: auto; }\n"
    "</style>\n</head>\n<body>\n";

constexpr std::size_t long_cell = 60;  // characters that a table breaks into lines

struct PageWriter {
  const std::vector<NamedFigure>& figures;

  std::string operator()(const Heading& heading) const {
    return fmt::format("<h{0}>{1}</h{0}>\n", heading.level, escape(heading.text));
  }
  std::string operator()(const Paragraph& paragraph) const {
    return fmt::format("<p>{}</p>\n", escape(paragraph.text));
  }
  std::string operator()(const Commands& commands) const {
    std::string text = "<pre>";
    for (const auto& line : commands.lines) text += escape(line) + "\n";
    return text + "</pre>\n";
  }
  std::string operator()(const List& list) const {
    std::string text = "<ul>\n";
    for (const auto& item : list.items) text += fmt::format("<li>{}</li>\n", escape(item));
    return text + "</ul>\n";
  }
  std::string operator()(const Table& table) const {
    const auto right = right_aligned_columns(table);
    std::string text = "<div class=\"table\"><table>\n";
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      text += "<tr>";
      for (std::size_t j = 0; j < right.size(); ++j) {
        const auto& cell = table.rows[i].at(j);
        const auto* kind = right[j] ? " class=\"number\"" : cell.size() > long_cell ? " class=\"long\"" : "";
        text += fmt::format("<{0}{1}>{2}</{0}>", i == 0 ? "th" : "td", kind, escape(cell));
      }
      text += "</tr>\n";
    }
    return text + "</table></div>\n";
  }
  std::string operator()(const Picture& picture) const {
    for (const auto& [name, figure] : figures) {
      if (picture.file == "./" + name + ".svg") return "<div>" + plot::to_svg(figure) + "</div>\n";
    }
    return fmt::format("<p>{}</p>\n", escape(picture.text));
  }
};

}  // namespace

std::string contest_page(const contest::Result& result) {
  const auto figures = contest_figures(result);
  std::string text = page_head;
  for (const auto& block : contest_document(result, "./")) text += std::visit(PageWriter{figures}, block);
  return text + "</body>\n</html>\n";
}

}  // namespace lehi::report
