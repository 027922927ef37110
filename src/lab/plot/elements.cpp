#include "plot/elements.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "plot/text.h"

namespace lehi::plot {
namespace {

std::string pair_of(Point point) {
  auto y = coordinate(point.y);
  return coordinate(point.x) + (y[0] == '-' ? "" : " ") + y;  // a minus sign separates, too
}

std::string opacity_attribute(std::string_view name, double opacity) {
  return opacity < 1.0 ? fmt::format(" {}=\"{}\"", name, coordinate(opacity)) : "";
}

std::string dash_attribute(Dash dash) {
  switch (dash) {
    case Dash::solid:
      return "";
    case Dash::dashed:
      return " stroke-dasharray=\"4 2\"";
    case Dash::dotted:
      return " stroke-dasharray=\"1 1.8\"";
  }
  return "";
}

std::string polygon_data(Point centre, int corners, double radius, double inner, double turn) {
  Polyline outline;
  const int points = inner > 0.0 ? 2 * corners : corners;
  for (int k = 0; k < points; ++k) {
    const double angle = turn + 2 * std::numbers::pi * k / points;
    const double length = inner > 0.0 && k % 2 == 1 ? inner : radius;
    outline.push_back({centre.x + length * std::sin(angle), centre.y - length * std::cos(angle)});
  }
  return path_data(outline) + "z";
}

std::string marker_data(Marker marker, Point at, double size) {
  const double r = size / 2;
  switch (marker) {
    case Marker::none:
      return "";
    case Marker::circle: {
      const auto radius = coordinate(r);
      const auto across = coordinate(2 * r);
      return fmt::format("M{0}a{1} {1} 0 1 0 {2} 0a{1} {1} 0 1 0-{2} 0z", pair_of({at.x - r, at.y}), radius, across);
    }
    case Marker::square:
      return polygon_data(at, 4, 1.25 * r, 0, std::numbers::pi / 4);
    case Marker::diamond:
      return polygon_data(at, 4, 1.25 * r, 0, 0);
    case Marker::triangle:
      return polygon_data(at, 3, 1.25 * r, 0, 0);
    case Marker::cross:
      return path_data({{at.x - r, at.y - r}, {at.x + r, at.y + r}}) +
             path_data({{at.x - r, at.y + r}, {at.x + r, at.y - r}});
    case Marker::star:
      return polygon_data(at, 5, 1.3 * r, 0.55 * r, 0);
  }
  return "";
}

}  // namespace

std::string text_element(Point at, std::string_view text, const TextStyle& style, std::string_view superscript) {
  std::string attributes = fmt::format(R"( x="{}" y="{}")", coordinate(at.x), coordinate(at.y));
  if (style.size != TextStyle().size) attributes += fmt::format(" font-size=\"{}\"", coordinate(style.size));
  if (style.anchor == Anchor::middle) attributes += " text-anchor=\"middle\"";
  if (style.anchor == Anchor::end) attributes += " text-anchor=\"end\"";
  if (style.bold) attributes += " font-weight=\"bold\"";
  if (style.vertical) attributes += fmt::format(" transform=\"rotate(-90 {} {})\"", coordinate(at.x), coordinate(at.y));
  std::string raised;
  if (!superscript.empty()) {
    raised = fmt::format(R"(<tspan dy="-{}" font-size="{}">{}</tspan>)", coordinate(0.4 * style.size),
                         coordinate(0.75 * style.size), escape(superscript));
  }
  return fmt::format("<text{}>{}{}</text>\n", attributes, escape(text), raised);
}

std::string path_data(const Polyline& line) {
  std::string data;
  std::string last;
  int count = 0;
  for (const auto& point : line) {
    auto here = pair_of(point);
    if (here == last) continue;
    if (count == 0) data += 'M';
    if (count == 1) data += 'L';
    if (count > 1 && here[0] != '-') data += ' ';
    data += here;
    last = std::move(here);
    ++count;
  }
  return count > 1 ? data : "";
}

std::string lines_element(const std::vector<Polyline>& lines, const Style& style) {
  std::string data;
  if (style.width > 0.0) {
    for (const auto& line : lines) data += path_data(simplify(line, 0.03));  // pt; less than a printer can show
  }
  if (data.empty()) return "";
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}{} stroke-linejoin=\"round\"/>\n",
                     data, escape(style.colour), coordinate(style.width),
                     opacity_attribute("stroke-opacity", style.opacity), dash_attribute(style.dash));
}

std::string area_element(const Polyline& area, std::string_view colour, double opacity) {
  const auto data = area.size() < 3 ? std::string() : path_data(simplify(area, 0.03));
  if (data.empty()) return "";
  return fmt::format("<path d=\"{}z\" fill=\"{}\"{}/>\n", data, escape(colour),
                     opacity_attribute("fill-opacity", opacity));
}

std::string markers_element(const Polyline& points, const Style& style) {
  std::string data;
  for (const auto& point : points) data += marker_data(style.marker, point, style.marker_size);
  if (data.empty()) return "";
  const auto colour = escape(style.colour);
  const bool outline = style.hollow || style.marker == Marker::cross;
  const auto fill = style.marker == Marker::cross ? "none" : style.hollow ? "#fff" : colour;
  // A thin white outline separates a filled marker from the lines below it.
  return fmt::format("<path d=\"{}\" fill=\"{}\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n", data, fill,
                     outline ? colour : "#fff", outline ? "1" : "0.5", opacity_attribute("opacity", style.opacity));
}

std::string box_element(const Box& box, std::string_view fill, std::string_view stroke, double width) {
  const auto border = stroke.empty()
                          ? std::string()
                          : fmt::format(R"( stroke="{}" stroke-width="{}")", escape(stroke), coordinate(width));
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>\n", coordinate(box.left),
                     coordinate(box.top), coordinate(box.right - box.left), coordinate(box.bottom - box.top),
                     fill.empty() ? "none" : escape(fill), border);
}

}  // namespace lehi::plot
