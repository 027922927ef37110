// Clips lines and areas to a rectangle, and simplifies lines.
#pragma once

#include <vector>

namespace lehi::plot {

struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Box {
  double left = 0.0;
  double top = 0.0;
  double right = 0.0;
  double bottom = 0.0;  ///< greater than top: y grows downwards, as in SVG
};

using Polyline = std::vector<Point>;

bool contains(const Box& box, Point point);

/// The parts of a line inside the box. A point that is not finite interrupts the line; a single point between two such
/// points is dropped, as is a segment with both ends further away than 1e9.
std::vector<Polyline> clip_line(const Polyline& line, const Box& box);

/// The part of an area inside the box, as one polygon, which may touch itself along the box's edge.
Polyline clip_polygon(Polyline polygon, const Box& box);

/// A line with fewer points: no point of `line` is further than `tolerance` from it. One pass over the points.
Polyline simplify(const Polyline& line, double tolerance);

}  // namespace lehi::plot
