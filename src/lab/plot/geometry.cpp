#include "plot/geometry.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

namespace lehi::plot {
namespace {

bool is_finite(Point point) { return std::isfinite(point.x) && std::isfinite(point.y); }

Point between(Point a, Point b, double t) { return {a.x + t * (b.x - a.x), a.y + t * (b.y - a.y)}; }

double distance(Point a, Point b) { return std::hypot(b.x - a.x, b.y - a.y); }

double size_of(Point point) { return std::max(std::abs(point.x), std::abs(point.y)); }

Point inside(Point point, const Box& box) {
  return {std::clamp(point.x, box.left, box.right), std::clamp(point.y, box.top, box.bottom)};
}

// The part of a segment inside the box, and which of its ends were moved.
struct ClippedSegment {
  Point a;
  Point b;
  bool a_moved = false;
  bool b_moved = false;
};

// Liang and Barsky's algorithm: the fractions of the length at which the segment enters and leaves the box.
std::optional<ClippedSegment> clip_segment(Point a, Point b, const Box& box) {
  // Measured from the end nearer to the origin: as fractions measured from an end at 1e17 pt, all points of the page
  // round to the same number. If both ends are that far away, the segment is dropped.
  if (size_of(a) > size_of(b)) {
    const auto reversed = clip_segment(b, a, box);
    if (!reversed) return {};
    return ClippedSegment{reversed->b, reversed->a, reversed->b_moved, reversed->a_moved};
  }
  if (size_of(a) > 1e9) return {};
  double from = 0.0;
  double to = 1.0;
  const auto cut = [&](double change, double room) {  // keeps the t with change * t <= room
    if (change == 0.0) return room >= 0.0;
    const double t = room / change;
    if (change < 0.0) {
      from = std::max(from, t);
    } else {
      to = std::min(to, t);
    }
    return from <= to;
  };
  const bool any = cut(a.x - b.x, a.x - box.left) && cut(b.x - a.x, box.right - a.x) && cut(a.y - b.y, a.y - box.top) &&
                   cut(b.y - a.y, box.bottom - a.y);
  if (!any) return {};
  return ClippedSegment{from > 0.0 ? inside(between(a, b, from), box) : a,
                        to < 1.0 ? inside(between(a, b, to), box) : b, from > 0.0, to < 1.0};
}

// The part of a polygon on the side of an edge where depth(point) >= 0 (Sutherland and Hodgman).
template <class Depth>
Polyline clip_side(const Polyline& polygon, Depth depth) {
  Polyline kept;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const auto here = polygon[i];
    const auto next = polygon[(i + 1) % polygon.size()];
    if (depth(here) >= 0.0) kept.push_back(here);
    if ((depth(here) >= 0.0) != (depth(next) >= 0.0)) {
      const bool near = size_of(here) <= size_of(next);  // measured from the nearer end, as above
      const auto a = near ? here : next;
      const auto b = near ? next : here;
      kept.push_back(between(a, b, depth(a) / (depth(a) - depth(b))));
    }
  }
  return kept;
}

}  // namespace

bool contains(const Box& box, Point point) {
  return point.x >= box.left && point.x <= box.right && point.y >= box.top && point.y <= box.bottom;
}

std::vector<Polyline> clip_line(const Polyline& line, const Box& box) {
  std::vector<Polyline> parts;
  bool open = false;  // the next segment continues the last part
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    const auto a = line[i];
    const auto b = line[i + 1];
    const auto cut = is_finite(a) && is_finite(b) ? clip_segment(a, b, box) : std::nullopt;
    if (!cut) {
      open = false;
      continue;
    }
    if (!open || cut->a_moved) parts.push_back({cut->a});
    parts.back().push_back(cut->b);
    open = !cut->b_moved;
  }
  return parts;
}

Polyline clip_polygon(Polyline polygon, const Box& box) {
  polygon = clip_side(polygon, [&](Point p) { return p.x - box.left; });
  polygon = clip_side(polygon, [&](Point p) { return box.right - p.x; });
  polygon = clip_side(polygon, [&](Point p) { return p.y - box.top; });
  polygon = clip_side(polygon, [&](Point p) { return box.bottom - p.y; });
  for (auto& point : polygon) point = inside(point, box);  // rounding may leave a point just outside
  return polygon;
}

Polyline simplify(const Polyline& line, double tolerance) {
  if (line.size() < 3) return line;
  Polyline kept = {line[0]};
  // The directions, as angles relative to `axis`, in which a straight line from the last kept point passes all later
  // points within the tolerance.
  double axis = 0.0;
  double low = 0.0;
  double high = 0.0;
  double reached = 0.0;  // the distance of the latest point: where a line turns back, the turning point is kept
  bool unconstrained = true;
  for (std::size_t i = 1; i < line.size(); ++i) {
    const auto try_point = [&] {
      const auto here = kept.back();
      const double length = distance(here, line[i]);
      if (length <= tolerance) return unconstrained;  // within the tolerance of the kept point: any direction will do
      const double angle = std::atan2(line[i].y - here.y, line[i].x - here.x);
      const double half = std::asin(std::min(1.0, tolerance / length));
      if (unconstrained) {
        axis = angle;
        low = -half;
        high = half;
        unconstrained = false;
        reached = length;
        return true;
      }
      const double off = std::remainder(angle - axis, 2 * std::numbers::pi);
      if (length < reached || off < low || off > high) return false;
      low = std::max(low, off - half);
      high = std::min(high, off + half);
      reached = length;
      return true;
    };
    if (try_point()) continue;
    kept.push_back(line[i - 1]);
    unconstrained = true;
    try_point();
  }
  kept.push_back(line.back());
  return kept;
}

}  // namespace lehi::plot
