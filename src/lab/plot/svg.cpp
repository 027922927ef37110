#include "plot/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plot/elements.h"
#include "plot/panel.h"
#include "plot/text.h"
#include "runtime/message.h"

namespace lehi::plot {
namespace {

constexpr double page_margin = 4.0;
constexpr double figure_title_size = 10.0;
constexpr double legend_size = 8.0;
constexpr double legend_row = 12.0;
constexpr double sample_width = 18.0;  // of a line in the legend

void check_axis(const Axis& axis, std::string_view name) {
  for (const auto& end : {axis.low, axis.high}) {
    if (end && (!std::isfinite(*end) || std::abs(*end) > 1e300)) {
      throw_invalid_argument("figure: the {} axis ends at {}, expected a finite number", name, *end);
    }
    if (end && axis.log && *end <= 0.0) {
      throw_invalid_argument("figure: the {} axis is logarithmic and ends at {}, expected a positive number", name,
                             *end);
    }
  }
  if (axis.low && axis.high && !(*axis.low < *axis.high)) {
    throw_invalid_argument("figure: the {} axis runs from {} to {}, expected ends in ascending order", name, *axis.low,
                           *axis.high);
  }
}

void check_figure(const Figure& figure) {
  if (!(figure.panel_width > 0.0) || !(figure.panel_height > 0.0) || figure.columns < 1) {
    throw_invalid_argument("figure: panels of {} x {} pt in {} columns, expected positive numbers", figure.panel_width,
                           figure.panel_height, figure.columns);
  }
  for (const auto& panel : figure.panels) {
    check_axis(panel.x, "x");
    check_axis(panel.y, "y");
    if (panel.inset) check_axis({.log = panel.x.log, .low = panel.inset->from, .high = panel.inset->to}, "inset's x");
    for (const auto& series : panel.series) {
      if (series.x.size() != series.y.size()) {
        throw_invalid_argument("figure: series '{}' has {} x and {} y, expected equal numbers", series.name,
                               series.x.size(), series.y.size());
      }
    }
    for (const auto& band : panel.bands) {
      if (band.x.size() != band.low.size() || band.x.size() != band.high.size()) {
        throw_invalid_argument("figure: band '{}' has {} x, {} low and {} high, expected equal numbers", band.name,
                               band.x.size(), band.low.size(), band.high.size());
      }
    }
  }
}

// A name with the line, the band, or both that have it.
struct LegendEntry {
  std::string name;
  std::optional<Style> line;
  std::optional<Band> band;

  double width() const { return sample_width + 4.0 + text_width(name, legend_size); }
};

std::vector<LegendEntry> legend_entries(const Figure& figure) {
  std::vector<LegendEntry> entries;
  const auto entry = [&](const std::string& name) -> LegendEntry& {
    for (auto& known : entries) {
      if (known.name == name) return known;
    }
    return entries.emplace_back(LegendEntry{.name = name});
  };
  for (const auto& panel : figure.panels) {
    for (const auto& series : panel.series) {
      if (series.name.empty()) continue;
      auto& found = entry(series.name);
      if (!found.line) found.line = series.style;
    }
    for (const auto& band : panel.bands) {
      if (band.name.empty()) continue;
      auto& found = entry(band.name);
      if (!found.band) found.band = Band{.colour = band.colour, .opacity = band.opacity};
    }
  }
  return entries;
}

std::vector<std::vector<LegendEntry>> legend_rows(const std::vector<LegendEntry>& entries, double width) {
  std::vector<std::vector<LegendEntry>> rows;
  double used = 0.0;
  for (const auto& entry : entries) {
    const double needed = entry.width() + 12.0;
    if (rows.empty() || used + needed > width) {
      rows.emplace_back();
      used = 0.0;
    }
    rows.back().push_back(entry);
    used += needed;
  }
  return rows;
}

std::string draw_legend_row(const std::vector<LegendEntry>& row, double page_width, double baseline) {
  double width = -12.0;
  for (const auto& entry : row) width += entry.width() + 12.0;
  double x = std::max(page_margin, (page_width - width) / 2);
  std::string svg;
  for (const auto& entry : row) {
    const double y = baseline - 0.35 * legend_size;
    if (entry.band) {
      svg += area_element({{x, y - 3.5}, {x + sample_width, y - 3.5}, {x + sample_width, y + 3.5}, {x, y + 3.5}},
                          entry.band->colour, entry.band->opacity);
    }
    if (entry.line) {
      svg += lines_element({{{x, y}, {x + sample_width, y}}}, *entry.line);
      svg += markers_element({{x + sample_width / 2, y}}, *entry.line);
    }
    svg += text_element({x + sample_width + 4.0, baseline}, entry.name, {.size = legend_size});
    x += entry.width() + 12.0;
  }
  return svg;
}

// The margins of each column: its widest at the sides, the highest of all panels above and below. So the frames are
// aligned in rows and columns.
std::vector<Margins> column_margins(const std::vector<PreparedPanel>& panels, std::size_t columns) {
  std::vector<Margins> all(columns);
  double top = 0.0;
  double bottom = 0.0;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const auto margins = margins_of(panels[i]);
    auto& column = all[i % columns];
    column.left = std::max(column.left, margins.left);
    column.right = std::max(column.right, margins.right);
    top = std::max(top, margins.top);
    bottom = std::max(bottom, margins.bottom);
  }
  for (auto& column : all) {
    column.top = top;
    column.bottom = bottom;
  }
  return all;
}

std::string head(const Figure& figure, double width, double height) {
  const auto w = coordinate(width);
  const auto h = coordinate(height);
  auto text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}pt\" height=\"{1}pt\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" font-size=\"{2}\" "
      "fill=\"#222\">\n",
      w, h, coordinate(TextStyle().size));
  if (!figure.title.empty()) text += fmt::format("<title>{}</title>\n", escape(figure.title));
  if (!figure.description.empty()) text += fmt::format("<desc>{}</desc>\n", escape(figure.description));
  return text + box_element({0, 0, width, height}, "#fff", "", 0.0);
}

}  // namespace

std::string to_svg(const Figure& figure) {
  check_figure(figure);
  std::vector<PreparedPanel> panels;
  panels.reserve(figure.panels.size());
  for (const auto& panel : figure.panels) {
    panels.push_back(prepare_panel(panel, figure.panel_width, figure.panel_height));
  }
  const auto columns =
      std::clamp<std::size_t>(static_cast<std::size_t>(figure.columns), 1, std::max<std::size_t>(1, panels.size()));
  const auto rows = (panels.size() + columns - 1) / columns;
  const auto margins = column_margins(panels, columns);
  const double cell_height = margins.front().top + figure.panel_height + margins.front().bottom;
  double panels_width = 0.0;
  for (const auto& column : margins) panels_width += column.left + figure.panel_width + column.right;
  const double width = 2 * page_margin + std::max(panels_width, text_width(figure.title, figure_title_size));
  const auto legend = figure.legend ? legend_rows(legend_entries(figure), width - 2 * page_margin)
                                    : std::vector<std::vector<LegendEntry>>();
  std::string body;
  double top = page_margin;
  if (!figure.title.empty()) {
    body += text_element({width / 2, top + figure_title_size}, figure.title,
                         {.size = figure_title_size, .anchor = Anchor::middle, .bold = true});
    top += figure_title_size + 7.0;
  }
  for (const auto& row : legend) {
    body += draw_legend_row(row, width, top + legend_size);
    top += legend_row;
  }
  if (!legend.empty()) top += 3.0;
  double left = page_margin;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const auto row = i / columns;
    const auto& column = margins[i % columns];
    if (i % columns == 0) left = page_margin;
    Box frame;
    frame.left = left + column.left;
    frame.top = top + static_cast<double>(row) * cell_height + column.top;
    frame.right = frame.left + figure.panel_width;
    frame.bottom = frame.top + figure.panel_height;
    left = frame.right + column.right;
    body += draw_panel(panels[i], frame);
  }
  const double height = top + static_cast<double>(rows) * cell_height + page_margin;
  return head(figure, width, height) + body + "</svg>\n";
}

}  // namespace lehi::plot
