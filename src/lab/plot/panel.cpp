#include "plot/panel.h"

#include <algorithm>
#include <cmath>

#include "plot/elements.h"
#include "plot/text.h"

namespace lehi::plot {
namespace {

constexpr double tick_size = 7.0;  // font sizes and lengths in pt
constexpr double label_size = 8.0;
constexpr double title_size = 8.5;
constexpr double tick_length = 3.0;
constexpr auto ink = "#333333";
constexpr auto grid_ink = "#e8e8e8";

double tick_width(const Tick& tick) {
  return text_width(tick.label, tick_size) + text_width(tick.superscript, 0.75 * tick_size);
}

double widest(const Ticks& ticks) {
  double width = 0.0;
  for (const auto& tick : ticks.major) width = std::max(width, tick_width(tick));
  return width;
}

Ticks named_ticks(const std::vector<std::string>& names) {
  Ticks ticks;
  for (std::size_t i = 0; i < names.size(); ++i) {
    ticks.major.push_back({.value = static_cast<double>(i), .label = names[i], .superscript = ""});
  }
  return ticks;
}

// As many ticks as fit side by side with a gap between their labels.
Ticks fitting_ticks(const Axis& axis, const Range& range, double width) {
  if (!axis.names.empty()) return named_ticks(axis.names);
  int wanted = std::max(2, static_cast<int>(width / 32));
  for (;; --wanted) {
    auto ticks = make_ticks(axis.log, range.low, range.high, wanted);
    const double needed = (widest(ticks) + 5.0) * static_cast<double>(ticks.major.size());
    if (needed <= width || wanted == 1) return ticks;
  }
}

Scale x_scale(const PreparedPanel& prepared, const Box& frame) {
  return {prepared.ranges.x, prepared.panel.x.log, frame.left, frame.right};
}

Scale y_scale(const PreparedPanel& prepared, const Box& frame) {
  return {prepared.ranges.y, prepared.panel.y.log, frame.bottom, frame.top};
}

std::string draw_grid(const PreparedPanel& prepared, const Box& frame) {
  std::vector<Polyline> lines;
  for (const auto& tick : prepared.x.major) {
    const double x = position(x_scale(prepared, frame), tick.value);
    lines.push_back({{x, frame.top}, {x, frame.bottom}});
  }
  for (const auto& tick : prepared.y.major) {
    const double y = position(y_scale(prepared, frame), tick.value);
    lines.push_back({{frame.left, y}, {frame.right, y}});
  }
  return lines_element(lines, {.colour = grid_ink, .width = 0.5});
}

// The areas of a band: one for each stretch of points that can be drawn.
std::string draw_band(const Band& band, const PreparedPanel& prepared, const Box& frame) {
  const auto x = x_scale(prepared, frame);
  const auto y = y_scale(prepared, frame);
  std::string svg;
  Polyline upper;
  Polyline lower;
  const auto finish = [&] {
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    svg += area_element(clip_polygon(upper, frame), band.colour, band.opacity);
    upper.clear();
    lower.clear();
  };
  for (std::size_t i = 0; i < band.x.size(); ++i) {
    const double at = position(x, band.x[i]);
    const double high = position(y, band.high[i]);
    const bool below = y.log && std::isfinite(band.low[i]) && band.low[i] <= 0.0;
    const double low = below ? frame.bottom : position(y, band.low[i]);
    if (!std::isfinite(at) || !std::isfinite(high) || !std::isfinite(low)) {
      finish();
      continue;
    }
    upper.push_back({at, high});
    lower.push_back({at, low});
  }
  finish();
  return svg;
}

std::string draw_series(const Series& series, const PreparedPanel& prepared, const Box& frame) {
  const auto x = x_scale(prepared, frame);
  const auto y = y_scale(prepared, frame);
  Polyline points;
  points.reserve(series.x.size());
  for (std::size_t i = 0; i < series.x.size(); ++i)
    points.push_back({position(x, series.x[i]), position(y, series.y[i])});
  auto svg = lines_element(clip_line(points, frame), series.style);
  std::erase_if(points, [&](Point point) { return !contains(frame, point); });
  return svg + markers_element(points, series.style);
}

std::string draw_contents(const PreparedPanel& prepared, const Box& frame) {
  std::string svg;
  for (const auto& band : prepared.panel.bands) svg += draw_band(band, prepared, frame);
  for (const auto& series : prepared.panel.series) svg += draw_series(series, prepared, frame);
  return svg;
}

// Frame, ticks and their labels.
std::string draw_axes(const PreparedPanel& prepared, const Box& frame, double text_size) {
  const auto x = x_scale(prepared, frame);
  const auto y = y_scale(prepared, frame);
  std::vector<Polyline> lines;
  std::string labels;
  for (const auto& tick : prepared.x.major) {
    const double at = position(x, tick.value);
    lines.push_back({{at, frame.bottom}, {at, frame.bottom + tick_length}});
    labels += text_element({at, frame.bottom + tick_length + 1.0 + text_size}, tick.label,
                           {.size = text_size, .anchor = Anchor::middle}, tick.superscript);
  }
  for (const auto& tick : prepared.y.major) {
    const double at = position(y, tick.value);
    lines.push_back({{frame.left, at}, {frame.left - tick_length, at}});
    labels += text_element({frame.left - tick_length - 2.0, at + 0.35 * text_size}, tick.label,
                           {.size = text_size, .anchor = Anchor::end}, tick.superscript);
  }
  for (const double value : prepared.x.minor) {
    const double at = position(x, value);
    lines.push_back({{at, frame.bottom}, {at, frame.bottom + 0.55 * tick_length}});
  }
  for (const double value : prepared.y.minor) {
    const double at = position(y, value);
    lines.push_back({{frame.left, at}, {frame.left - 0.55 * tick_length, at}});
  }
  const auto draw_factor = [&](const Ticks& ticks, Point at, Anchor anchor) {
    if (ticks.exponent == 0) return;
    labels +=
        text_element(at, "×10", {.size = text_size, .anchor = anchor}, with_minus(std::to_string(ticks.exponent)));
  };
  draw_factor(prepared.x, {frame.right, frame.bottom + tick_length + 2.0 + 2.2 * text_size}, Anchor::end);
  draw_factor(prepared.y, {frame.left, frame.top - 3.0}, Anchor::start);
  return box_element(frame, "", ink, 0.6) + lines_element(lines, {.colour = ink, .width = 0.6}) + labels;
}

std::string draw_inset(const PreparedPanel& prepared, const Box& frame) {
  const auto& inset = *prepared.panel.inset;
  Panel zoomed = prepared.panel;
  zoomed.inset.reset();
  zoomed.x.low = inset.from;
  zoomed.x.high = inset.to;
  zoomed.y.low.reset();
  zoomed.y.high.reset();
  constexpr double text_size = 6.0;
  const double width = inset.width * (frame.right - frame.left);
  const double height = inset.height * (frame.bottom - frame.top);
  auto inner = prepare_panel(zoomed, width, height);
  inner.y = make_ticks(zoomed.y.log, inner.ranges.y.low, inner.ranges.y.high, 3);
  const double half_label = inner.x.major.empty() ? 0.0 : tick_width(inner.x.major.back()) / 2;
  const double labels_left = widest(inner.y) * text_size / tick_size + tick_length + 3.0;
  const double labels_below = tick_length + text_size + 3.0;
  const bool left = inset.corner == Corner::top_left || inset.corner == Corner::bottom_left;
  const bool top = inset.corner == Corner::top_left || inset.corner == Corner::top_right;
  Box box;
  box.left = left ? frame.left + 5.0 + labels_left : frame.right - half_label - 5.0 - width;
  box.top = top ? frame.top + 5.0 : frame.bottom - 2.0 - labels_below - height;
  box.right = box.left + width;
  box.bottom = box.top + height;
  const Box background = {box.left - labels_left, box.top - 2.0, box.right + 2.0, box.bottom + labels_below};
  return box_element(background, "#fff", "", 0.0) + draw_contents(inner, box) + draw_axes(inner, box, text_size);
}

}  // namespace

PreparedPanel prepare_panel(const Panel& panel, double width, double height) {
  PreparedPanel prepared{.panel = panel, .ranges = ranges_of(panel)};
  prepared.x = fitting_ticks(panel.x, prepared.ranges.x, width);
  const int wanted = std::max(2, static_cast<int>(height / 22));
  prepared.y = panel.y.names.empty() ? make_ticks(panel.y.log, prepared.ranges.y.low, prepared.ranges.y.high, wanted)
                                     : named_ticks(panel.y.names);
  return prepared;
}

Margins margins_of(const PreparedPanel& prepared) {
  Margins margins;
  margins.left = tick_length + 2.0 + widest(prepared.y) + (prepared.panel.y.label.empty() ? 2.0 : label_size + 5.0);
  margins.top = prepared.panel.title.empty() ? (prepared.y.exponent != 0 ? 11.0 : 5.0) : title_size + 6.0;
  margins.right = prepared.x.major.empty() ? 5.0 : 3.0 + tick_width(prepared.x.major.back()) / 2;
  const bool text_below = !prepared.panel.x.label.empty() || prepared.x.exponent != 0;
  margins.bottom = tick_length + tick_size + 4.0 + (text_below ? label_size + 4.0 : 0.0);
  return margins;
}

std::string draw_panel(const PreparedPanel& prepared, const Box& frame) {
  const auto& panel = prepared.panel;
  const Point middle = {(frame.left + frame.right) / 2, (frame.top + frame.bottom) / 2};
  std::string svg = "<g>\n";
  if (panel.grid) svg += draw_grid(prepared, frame);
  svg += draw_contents(prepared, frame);
  svg += draw_axes(prepared, frame, tick_size);
  if (!panel.title.empty()) {
    svg += text_element({middle.x, frame.top - 5.0}, panel.title,
                        {.size = title_size, .anchor = Anchor::middle, .bold = true});
  }
  if (!panel.x.label.empty()) {
    svg += text_element({middle.x, frame.bottom + tick_length + tick_size + label_size + 3.0}, panel.x.label,
                        {.size = label_size, .anchor = Anchor::middle});
  }
  if (!panel.y.label.empty()) {
    svg += text_element({frame.left - tick_length - 6.0 - widest(prepared.y), middle.y}, panel.y.label,
                        {.size = label_size, .anchor = Anchor::middle, .vertical = true});
  }
  if (panel.inset) svg += draw_inset(prepared, frame);
  return svg + "</g>\n";
}

}  // namespace lehi::plot
