// Lines and areas cut to a rectangle, and lines without the points that nobody would see.
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
  double bottom = 0.0;  ///< below top: y grows downwards, as SVG has it
};

using Polyline = std::vector<Point>;

bool contains(const Box& box, Point point);

/// The parts of a line that lie in the box. A point that is not finite breaks the line; one between two such is lost,
/// and so is a segment with both ends further away than 1e9.
std::vector<Polyline> clip_line(const Polyline& line, const Box& box);

/// The part of an area that lies in the box, as one polygon (which may touch itself along the box's edge).
Polyline clip_polygon(Polyline polygon, const Box& box);

/// Fewer points: no point of the line is further than `tolerance` from what is left. One pass over them.
Polyline simplify(const Polyline& line, double tolerance);

}  // namespace lehi::plot
