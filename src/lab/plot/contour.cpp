#include "plot/contour.h"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/message.h"

namespace lehi::plot {
namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

// A contour crosses an edge of the grid at most once, so the edge's number names the crossing. The edge from (i, j) to
// (i+1, j) is 2 (j nx + i), the one to (i, j+1) the number after it. A crossing belongs to one or two segments, one for
// each square beside its edge.
class Crossings {
 public:
  Crossings(const Grid& grid, double level)
      : grid_(grid), level_(level), next_(2 * grid.values.size(), {nowhere, nowhere}) {
    for (std::size_t j = 0; j + 1 < grid.y.size(); ++j) {
      for (std::size_t i = 0; i + 1 < grid.x.size(); ++i) add_square(i, j);
    }
  }

  /// Lines with two ends first, then closed ones.
  Series lines() {
    Series series;
    for (std::size_t edge = 0; edge < next_.size(); ++edge) {
      if (next_[edge][0] != nowhere && next_[edge][1] == nowhere) follow(edge, series);
    }
    for (std::size_t edge = 0; edge < next_.size(); ++edge) {
      if (next_[edge][0] != nowhere) follow(edge, series);
    }
    return series;
  }

 private:
  double value(std::size_t i, std::size_t j) const { return grid_.values[j * grid_.x.size() + i]; }

  void join(std::size_t a, std::size_t b) {
    next_[a][next_[a][0] == nowhere ? 0 : 1] = b;
    next_[b][next_[b][0] == nowhere ? 0 : 1] = a;
  }

  void add_square(std::size_t i, std::size_t j) {
    const std::array<double, 4> corners = {value(i, j), value(i + 1, j), value(i + 1, j + 1), value(i, j + 1)};
    for (const double corner : corners) {
      if (!std::isfinite(corner)) return;
    }
    const auto width = grid_.x.size();
    // In the order of the corners: edge k joins corner k and the one after it.
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
    // A saddle: the middle decides which corners hang together, and each of the other two is cut off by a segment.
    const bool middle = (corners[0] + corners[1] + corners[2] + corners[3]) / 4 >= level_;
    const bool cut_first = above(0) != middle;
    join(edges[0], cut_first ? edges[3] : edges[1]);
    join(edges[2], cut_first ? edges[1] : edges[3]);
  }

  void add_point(std::size_t edge, Series& series) const {
    const auto node = edge / 2;
    const auto i = node % grid_.x.size();
    const auto j = node / grid_.x.size();
    const bool upwards = edge % 2 == 1;
    const double a = value(i, j);
    const double b = upwards ? value(i, j + 1) : value(i + 1, j);
    const double t = (level_ - a) / (b - a);
    series.x.push_back(upwards ? grid_.x[i] : std::lerp(grid_.x[i], grid_.x[i + 1], t));
    series.y.push_back(upwards ? std::lerp(grid_.y[j], grid_.y[j + 1], t) : grid_.y[j]);
  }

  // Walks from `edge` to the line's end, or around to `edge` again, and forgets what it has walked.
  void follow(std::size_t edge, Series& series) {
    if (!series.x.empty()) {
      series.x.push_back(std::nan(""));
      series.y.push_back(std::nan(""));
    }
    add_point(edge, series);
    while (next_[edge][0] != nowhere) {
      const auto there = next_[edge][0];
      next_[edge][0] = std::exchange(next_[edge][1], nowhere);
      auto& back = next_[there];
      if (back[0] == edge)
        back[0] = std::exchange(back[1], nowhere);
      else
        back[1] = nowhere;
      add_point(there, series);
      edge = there;
    }
  }

  const Grid& grid_;
  double level_;
  std::vector<std::array<std::size_t, 2>> next_;
};

}  // namespace

Series contour(const Grid& grid, double level) {
  if (grid.values.size() != grid.x.size() * grid.y.size()) {
    throw_invalid_argument("contour: a grid of {} x {} needs {} values, not {}", grid.x.size(), grid.y.size(),
                           grid.x.size() * grid.y.size(), grid.values.size());
  }
  return Crossings(grid, level).lines();
}

std::vector<double> log_spaced(double low, double high, int count) {
  if (!(low > 0.0) || !(high > 0.0) || count < 1) {
    throw_invalid_argument("log_spaced: expected two positive ends and a count of at least 1, not {}, {} and {}", low,
                           high, count);
  }
  std::vector<double> numbers;
  for (int k = 0; k < count; ++k) {
    const double t = count == 1 ? 0.0 : static_cast<double>(k) / (count - 1);
    numbers.push_back(std::pow(10.0, std::lerp(std::log10(low), std::log10(high), t)));
  }
  return numbers;
}

}  // namespace lehi::plot
