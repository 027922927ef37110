#include "plot/contour.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/message.h"

namespace lehi::plot {
namespace {

constexpr std::size_t no_edge = std::numeric_limits<std::size_t>::max();

// The points where a contour crosses the grid's edges, and the segments between them. A contour crosses an edge at most
// once, so a crossing is identified by its edge. The edge from (i, j) to (i+1, j) has the number 2 (j nx + i), the edge
// from (i, j) to (i, j+1) the next one. Each of the (at most two) squares next to an edge adds one segment.
class Crossings {
 public:
  Crossings(const Grid& grid, double level)
      : grid_(grid), level_(level), next_(2 * grid.values.size(), {no_edge, no_edge}) {
    for (std::size_t j = 0; j + 1 < grid.y.size(); ++j) {
      for (std::size_t i = 0; i + 1 < grid.x.size(); ++i) add_square(i, j);
    }
  }

  /// Open lines first, then closed ones.
  Series lines() {
    Series series;
    for (std::size_t edge = 0; edge < next_.size(); ++edge) {
      if (next_[edge][0] != no_edge && next_[edge][1] == no_edge) append_line(edge, series);
    }
    for (std::size_t edge = 0; edge < next_.size(); ++edge) {
      if (next_[edge][0] != no_edge) append_line(edge, series);
    }
    return series;
  }

 private:
  double value(std::size_t i, std::size_t j) const { return grid_.values[j * grid_.x.size() + i]; }

  void join(std::size_t a, std::size_t b) {
    next_[a][next_[a][0] == no_edge ? 0 : 1] = b;
    next_[b][next_[b][0] == no_edge ? 0 : 1] = a;
  }

  void add_square(std::size_t i, std::size_t j) {
    const std::array<double, 4> corners = {value(i, j), value(i + 1, j), value(i + 1, j + 1), value(i, j + 1)};
    for (const double corner : corners) {
      if (!std::isfinite(corner)) return;
    }
    const auto width = grid_.x.size();
    // Edge k joins corners k and k + 1.
    const std::array<std::size_t, 4> edges = {2 * (j * width + i), 2 * (j * width + i + 1) + 1,
                                              2 * ((j + 1) * width + i), 2 * (j * width + i) + 1};
    const auto above = [&](std::size_t k) { return corners.at(k % 4) >= level_; };
    std::array<std::size_t, 4> crossed = {};
    std::size_t count = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      if (above(k) != above(k + 1)) crossed.at(count++) = edges.at(k);
    }
    if (count == 2) join(crossed[0], crossed[1]);
    if (count != 4) return;
    // A saddle: the mean of the corners decides which opposite corners are connected. A segment cuts off each of the
    // other two.
    const bool centre_above = (corners[0] + corners[1] + corners[2] + corners[3]) / 4 >= level_;
    const bool cut_first = above(0) != centre_above;
    join(edges[0], cut_first ? edges[3] : edges[1]);
    join(edges[2], cut_first ? edges[1] : edges[3]);
  }

  void add_point(std::size_t edge, Series& series) const {
    const auto node = edge / 2;
    const auto i = node % grid_.x.size();
    const auto j = node / grid_.x.size();
    const bool vertical = edge % 2 == 1;
    const double a = value(i, j);
    const double b = vertical ? value(i, j + 1) : value(i + 1, j);
    const double t = (level_ - a) / (b - a);
    series.x.push_back(vertical ? grid_.x[i] : std::lerp(grid_.x[i], grid_.x[i + 1], t));
    series.y.push_back(vertical ? std::lerp(grid_.y[j], grid_.y[j + 1], t) : grid_.y[j]);
  }

  // Appends the line from `edge` to its end (or back to `edge`, if it is closed) and removes its segments.
  void append_line(std::size_t edge, Series& series) {
    if (!series.x.empty()) {
      series.x.push_back(std::nan(""));
      series.y.push_back(std::nan(""));
    }
    add_point(edge, series);
    while (next_[edge][0] != no_edge) {
      const auto neighbour = next_[edge][0];
      next_[edge][0] = std::exchange(next_[edge][1], no_edge);
      auto& back = next_[neighbour];
      if (back[0] == edge) {
        back[0] = std::exchange(back[1], no_edge);
      } else {
        back[1] = no_edge;
      }
      add_point(neighbour, series);
      edge = neighbour;
    }
  }

  const Grid& grid_;
  double level_;
  std::vector<std::array<std::size_t, 2>> next_;  // the neighbouring crossings of each crossing
};

}  // namespace

Series contour(const Grid& grid, double level) {
  if (grid.values.size() != grid.x.size() * grid.y.size()) {
    throw_invalid_argument("contour: a grid of {} x {} has {} values, expected {}", grid.x.size(), grid.y.size(),
                           grid.values.size(), grid.x.size() * grid.y.size());
  }
  return Crossings(grid, level).lines();
}

}  // namespace lehi::plot
