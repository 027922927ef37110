// A figure as data: panels with axes, bands, lines and markers; svg.h writes it. This room does not use LibTorch, so it
// compiles quickly.
//
//   plot::Panel panel{.title = "protein", .x = {.label = "epoch"}, .y = {.label = "test loss", .log = true}};
//   panel.series.push_back({.x = epochs, .y = raw, .style = plot::faded(colour)});
//   panel.series.push_back({.name = "LEHI", .x = epochs, .y = plot::ema(raw, 0.3), .style = {.colour = colour}});
//   publish_text(file, plot::to_svg({.panels = {panel}}));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lehi::plot {

/// An unset end is computed from the data, with some padding.
struct Axis {
  std::string label;
  bool log = false;
  std::optional<double> low;
  std::optional<double> high;
  std::vector<std::string> names = {};  ///< of the positions 0, 1, 2, ..., which are then the ticks
};

enum class Dash : std::uint8_t { solid, dashed, dotted };
enum class Marker : std::uint8_t { none, circle, square, diamond, triangle, cross, star };

struct Style {
  std::string colour = "#000000";  ///< a CSS colour; see colours.h
  double width = 1.2;              ///< pt; 0: markers only
  double opacity = 1.0;
  Dash dash = Dash::solid;
  Marker marker = Marker::none;
  double marker_size = 5.0;  ///< pt across
  bool hollow = false;       ///< draws markers as outlines filled with white
};

/// For raw measurements behind a smoothed line.
inline Style faded(std::string colour) { return {.colour = std::move(colour), .width = 0.7, .opacity = 0.28}; }

/// Markers without a line.
inline Style marks(std::string colour, Marker marker, bool hollow = false) {
  return {.colour = std::move(colour), .width = 0.0, .marker = marker, .hollow = hollow};
}

/// A line through points. Points that are not finite, or not positive on a log axis, interrupt it.
struct Series {
  std::string name;  ///< in the legend; "" leaves the line out of it
  std::vector<double> x;
  std::vector<double> y;
  Style style;
  bool autoscale = true;  ///< counts when unset ends of the axes are computed
};

/// The area between two lines, such as mean ± 2 std. Interrupted like a line; on a log axis, a `low` that is not
/// positive means the end of the axis.
struct Band {
  std::string name;
  std::vector<double> x;
  std::vector<double> low;
  std::vector<double> high;
  std::string colour = "#000000";
  double opacity = 0.16;
  bool autoscale = true;
};

enum class Corner : std::uint8_t { top_left, top_right, bottom_left, bottom_right };

/// A magnified copy of the range from `from` to `to` of the x axis, in a corner of the panel.
struct Inset {
  double from = 0.0;
  double to = 1.0;
  Corner corner = Corner::top_right;
  double width = 0.45;  ///< as a fraction of the panel's
  double height = 0.42;
};

struct Panel {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Band> bands;     ///< below the series
  std::vector<Series> series;  ///< drawn in this order
  bool grid = true;
  std::optional<Inset> inset;
};

/// Panels in rows below a common legend with one entry per name, in order of first appearance. Sizes are in pt (72 per
/// inch); a column of most papers is 234 to 250 pt wide, a page's text 390 to 505.
struct Figure {
  std::string title;
  std::string description;  ///< for screen readers; not drawn
  std::vector<Panel> panels;
  int columns = 2;             ///< at most; never more than there are panels
  double panel_width = 190.0;  ///< of the frame, without labels
  double panel_height = 125.0;
  bool legend = true;
};

}  // namespace lehi::plot
