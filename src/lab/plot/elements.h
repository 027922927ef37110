// The pieces of SVG that figures are made of, as text.
#pragma once

#include <string>
#include <string_view>

#include "plot/figure.h"
#include "plot/geometry.h"

namespace lehi::plot {

enum class Anchor : std::uint8_t { start, middle, end };

struct TextStyle {
  double size = 7.0;  ///< pt
  Anchor anchor = Anchor::start;
  bool bold = false;
  bool upwards = false;  ///< turned by a quarter, to be read from below
};

/// One line of text with its baseline at `at`; `power` is raised behind it.
std::string text_element(Point at, std::string_view text, const TextStyle& style, std::string_view power = "");

/// Straight lines through the points, "M1 2L3 4 5 6"; places are rounded to hundredths and repeated ones left out. ""
/// when there is only one.
std::string path_data(const Polyline& line);

/// The lines in one element; "" for none.
std::string lines_element(const std::vector<Polyline>& lines, const Style& style);

/// An area without an outline; "" when fewer than three points are left of it.
std::string area_element(const Polyline& area, std::string_view colour, double opacity);

/// Markers of the style at the points, in one element; "" for none.
std::string markers_element(const Polyline& points, const Style& style);

/// A rectangle; "" for no fill or no stroke.
std::string box_element(const Box& box, std::string_view fill, std::string_view stroke, double width);

}  // namespace lehi::plot
