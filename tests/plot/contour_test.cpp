#include "plot/contour.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <stdexcept>

namespace lehi::plot {
namespace {

using Function = std::function<double(double, double)>;

Grid grid_of(const Function& function, double low, double high, int count) {
  Grid grid;
  for (int i = 0; i < count; ++i) grid.x.push_back(low + (high - low) * i / (count - 1));
  grid.y = grid.x;
  for (const double y : grid.y) {
    for (const double x : grid.x) grid.values.push_back(function(x, y));
  }
  return grid;
}

int breaks_of(const Series& line) {
  int breaks = 0;
  for (const double x : line.x) breaks += std::isnan(x) ? 1 : 0;
  return breaks;
}

TEST(Contour, OfOneSquareMatchesHandComputation) {
  // Values 0 and 1 below, 0 and 3 above: the level 0.5 crosses the lower edge at 1/2 and the upper one at 1/6.
  const auto line = contour({.x = {0, 1}, .y = {0, 1}, .values = {0, 1, 0, 3}}, 0.5);
  ASSERT_EQ(line.x.size(), 2U);
  EXPECT_EQ(line.x[0], 0.5);
  EXPECT_EQ(line.y[0], 0.0);
  EXPECT_DOUBLE_EQ(line.x[1], 1.0 / 6.0);
  EXPECT_EQ(line.y[1], 1.0);
}

// The function is the radius: linear interpolation between grid points h apart is off by less than h^2 / (8 r).
TEST(Contour, OfACircleIsOneClosedLineOnTheCircle) {
  const auto grid = grid_of([](double x, double y) { return std::hypot(x, y); }, -2, 2, 81);
  const auto line = contour(grid, 1.3);
  EXPECT_EQ(breaks_of(line), 0);
  ASSERT_GT(line.x.size(), 100U);
  EXPECT_EQ(line.x.front(), line.x.back());
  EXPECT_EQ(line.y.front(), line.y.back());
  double turned = 0.0;
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    EXPECT_NEAR(std::hypot(line.x[i], line.y[i]), 1.3, 0.05 * 0.05 / (8 * 1.3) * 1.1);
    if (i == 0) continue;
    const double angle = std::atan2(line.y[i], line.x[i]) - std::atan2(line.y[i - 1], line.x[i - 1]);
    turned += std::remainder(angle, 2 * 3.14159265358979323846);
  }
  EXPECT_NEAR(std::abs(turned), 2 * 3.14159265358979323846, 1e-9);  // once around
}

TEST(Contour, OfAPlaneIsOneStraightLineFromEdgeToEdge) {
  const auto line = contour(grid_of([](double x, double y) { return x + 2 * y; }, 0, 1, 11), 0.75);
  EXPECT_EQ(breaks_of(line), 0);
  for (std::size_t i = 0; i < line.x.size(); ++i) EXPECT_NEAR(line.x[i] + 2 * line.y[i], 0.75, 1e-14);
}

TEST(Contour, OfTwoHillsAreTwoLines) {
  const auto hills = [](double x, double y) {
    return std::exp(-4 * ((x - 1) * (x - 1) + y * y)) + std::exp(-4 * ((x + 1) * (x + 1) + y * y));
  };
  EXPECT_EQ(breaks_of(contour(grid_of(hills, -2, 2, 41), 0.5)), 1);
  EXPECT_EQ(breaks_of(contour(grid_of(hills, -2, 2, 41), 0.03)), 0);  // one line around both
  EXPECT_TRUE(contour(grid_of(hills, -2, 2, 41), 5.0).x.empty());
}

TEST(Contour, TheMeanDecidesHowASaddleIsConnected) {
  // Corners 1, 0, 1, 0 in turn give two segments. Levels above the mean, 0.5, cut off the high corners, others the low
  // ones.
  const Grid saddle{.x = {0, 1}, .y = {0, 1}, .values = {1, 0, 0, 1}};
  for (const double level : {0.75, 0.25}) {
    const auto line = contour(saddle, level);
    ASSERT_EQ(line.x.size(), 5U);
    EXPECT_EQ(breaks_of(line), 1);
    const bool high = level > 0.5;
    // The first line starts on the lower edge and ends on the side of the corner that it cuts off.
    EXPECT_DOUBLE_EQ(line.x[0], 1 - level);
    EXPECT_EQ(line.y[0], 0.0);
    EXPECT_EQ(line.x[1], high ? 0.0 : 1.0);
  }
}

TEST(Contour, SquaresWithNanAreSkipped) {
  auto grid = grid_of([](double x, double) { return x; }, 0, 1, 5);
  grid.values[12] = std::nan("");
  const auto line = contour(grid, 0.6);
  EXPECT_EQ(breaks_of(line), 1);  // the squares below the hole, and those above it
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    EXPECT_TRUE(std::isnan(line.x[i]) || std::abs(line.x[i] - 0.6) < 1e-14);
  }
}

TEST(Contour, OfAnEmptyGridIsEmpty) {
  EXPECT_TRUE(contour({}, 1.0).x.empty());
  EXPECT_TRUE(contour({.x = {0}, .y = {0}, .values = {1}}, 1.0).x.empty());
  EXPECT_THROW(contour({.x = {0, 1}, .y = {0, 1}, .values = {1}}, 1.0), std::invalid_argument);
}

}  // namespace
}  // namespace lehi::plot
