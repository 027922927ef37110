#include "plot/geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace lehi::plot {
namespace {

const double nan_value = std::nan("");
const Box unit_box = {.left = 0, .top = 0, .right = 10, .bottom = 10};

void expect_points(const Polyline& line, const Polyline& expected) {
  ASSERT_EQ(line.size(), expected.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    EXPECT_DOUBLE_EQ(line[i].x, expected[i].x) << "point " << i;
    EXPECT_DOUBLE_EQ(line[i].y, expected[i].y) << "point " << i;
  }
}

TEST(ClipLine, KeepsALineInside) {
  const auto parts = clip_line({{1, 1}, {5, 9}, {9, 1}}, unit_box);
  ASSERT_EQ(parts.size(), 1U);
  expect_points(parts[0], {{1, 1}, {5, 9}, {9, 1}});
}

TEST(ClipLine, CutsAtTheEdges) {
  const auto parts = clip_line({{-5, 5}, {5, 5}, {5, 15}, {8, 15}, {8, -10}}, unit_box);
  ASSERT_EQ(parts.size(), 2U);
  expect_points(parts[0], {{0, 5}, {5, 5}, {5, 10}});
  expect_points(parts[1], {{8, 10}, {8, 0}});
}

TEST(ClipLine, KeepsTheMiddleOfALineWithBothEndsOutside) {
  const auto parts = clip_line({{-10, 0}, {20, 30}, {nan_value, 0}, {-10, -10}, {20, 20}}, unit_box);
  ASSERT_EQ(parts.size(), 2U);
  expect_points(parts[0], {{0, 10}, {0, 10}});  // through the corner
  expect_points(parts[1], {{0, 0}, {10, 10}});
}

TEST(ClipLine, FarEndsDoNotMoveThePartInside) {
  // With slope 3, the line through (5, 5) meets the edge y = 10 at x = 5 + 5/3 and the edge y = 0 at x = 5 - 5/3.
  for (const double far : {1e3, 1e9, 1e17, 1e200}) {
    const auto out = clip_line({{5, 5}, {5 + far, 5 + 3 * far}}, unit_box);
    ASSERT_EQ(out.size(), 1U) << far;
    expect_points(out[0], {{5, 5}, {5 + 5.0 / 3, 10}});
    const auto in = clip_line({{5 - far, 5 - 3 * far}, {5, 5}}, unit_box);
    ASSERT_EQ(in.size(), 1U) << far;
    expect_points(in[0], {{5 - 5.0 / 3, 0}, {5, 5}});
  }
  for (const double far : {1e17, 1e200, 1e308}) {  // rounding decides where these lines pass; the parts must be inside
    for (const auto& part : clip_line({{-far, far}, {far, -far}, {3, far}, {-far, 2}}, unit_box)) {
      for (const auto& point : part) EXPECT_TRUE(contains(unit_box, point));
    }
  }
}

TEST(ClipLine, IsInterruptedByPointsThatAreNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto parts =
      clip_line({{1, 1}, {2, 2}, {nan_value, 3}, {4, 4}, {5, infinity}, {6, 6}, {7, 7}, {8, 8}}, unit_box);
  ASSERT_EQ(parts.size(), 2U);
  expect_points(parts[0], {{1, 1}, {2, 2}});
  expect_points(parts[1], {{6, 6}, {7, 7}, {8, 8}});
  EXPECT_TRUE(clip_line({}, unit_box).empty());
  EXPECT_TRUE(clip_line({{1, 1}}, unit_box).empty());
}

TEST(ClipPolygon, MatchesHandComputation) {
  expect_points(clip_polygon({{2, 2}, {4, 2}, {4, 4}}, unit_box), {{2, 2}, {4, 2}, {4, 4}});
  expect_points(clip_polygon({{5, 5}, {15, 5}, {15, 8}, {5, 8}}, unit_box), {{5, 5}, {10, 5}, {10, 8}, {5, 8}});
  EXPECT_TRUE(clip_polygon({{11, 11}, {12, 11}, {12, 12}}, unit_box).empty());
  EXPECT_TRUE(clip_polygon({}, unit_box).empty());
  expect_points(clip_polygon({{2, 5}, {5, 1e200}, {8, 5}}, unit_box), {{2, 5}, {2, 10}, {8, 10}, {8, 5}});
}

TEST(Simplify, DropsPointsOnAStraightLine) {
  expect_points(simplify({{0, 0}, {1, 0}, {2, 0}, {3, 0}, {3, 1}, {3, 2}}, 0.01), {{0, 0}, {3, 0}, {3, 2}});
  expect_points(simplify({{0, 0}, {5, 0}, {2, 0}, {4, 0}}, 0.01),
                {{0, 0}, {5, 0}, {2, 0}, {4, 0}});  // turning points are kept
  expect_points(simplify({{1, 1}, {1, 1}, {1, 1}}, 0.01), {{1, 1}, {1, 1}});
}

// On a random walk, which turns and crosses itself.
TEST(Simplify, KeepsEveryPointWithinTheTolerance) {
  std::mt19937 draw(7);
  std::normal_distribution<double> step(0.0, 1.0);
  for (const double size : {0.01, 0.3, 3.0}) {
    Polyline walk = {{0, 0}};
    for (int i = 0; i < 3000; ++i)
      walk.push_back({walk.back().x + size * step(draw), walk.back().y + size * step(draw)});
    const double tolerance = 0.2;
    const auto kept = simplify(walk, tolerance);
    EXPECT_LE(kept.size(), walk.size());
    std::size_t segment = 0;
    for (const auto& point : walk) {
      const auto far_from = [&](std::size_t k) {
        const auto a = kept[k];
        const auto b = kept[k + 1];
        const double squared = (b.x - a.x) * (b.x - a.x) + (b.y - a.y) * (b.y - a.y);
        const double along =
            squared > 0 ? ((point.x - a.x) * (b.x - a.x) + (point.y - a.y) * (b.y - a.y)) / squared : 0;
        const double t = std::min(1.0, std::max(0.0, along));
        return std::hypot(point.x - a.x - t * (b.x - a.x), point.y - a.y - t * (b.y - a.y));
      };
      while (segment + 2 < kept.size() && far_from(segment) > tolerance * (1 + 1e-9)) ++segment;
      ASSERT_LE(far_from(segment), tolerance * (1 + 1e-9));
    }
  }
}

}  // namespace
}  // namespace lehi::plot
