// SVG elements as strings.
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
  bool vertical = false;  ///< rotated by 90 degrees, reading upwards
};

/// One line of text with its baseline at `at`, followed by `superscript`.
std::string text_element(Point at, std::string_view text, const TextStyle& style, std::string_view superscript = "");

/// Path data of a polyline, such as "M1 2L3 4 5 6". Coordinates are rounded to hundredths and repeated points dropped;
/// "" for fewer than two points.
std::string path_data(const Polyline& line);

/// All lines in one element; "" if there are none.
std::string lines_element(const std::vector<Polyline>& lines, const Style& style);

/// A filled area without an outline; "" for fewer than three points.
std::string area_element(const Polyline& area, std::string_view colour, double opacity);

/// The style's marker at each point, in one element; "" if there are none.
std::string markers_element(const Polyline& points, const Style& style);

/// A rectangle; an empty `fill` or `stroke` means none.
std::string box_element(const Box& box, std::string_view fill, std::string_view stroke, double width);

}  // namespace lehi::plot
