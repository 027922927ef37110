// Which sides of a matrix are turned: a table of cases.
#include "plan/sides.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace lehi {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();

struct Case {
  Sides sides = Sides::automatic;
  MatrixSize size;
  double predictions = unknown;
  std::int64_t largest_side = 8192;
  std::string expected;  // "left", "right", "both" or "none"
};

std::string text_of(const TurnedSides& sides) {
  EXPECT_EQ(sides.any(), sides.left || sides.right);
  if (sides.left && sides.right) return "both";
  return sides.left ? "left" : sides.right ? "right" : "none";
}

// `cost` is 0.5: both sides up to m + n = T / 2, one side up to T / 2.
void expect_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const Kronecker kronecker{.sides = c.sides, .cost = 0.5};
    EXPECT_EQ(text_of(turned_sides(kronecker, c.size, c.predictions, c.largest_side)), c.expected)
        << name(c.sides) << " " << c.size.rows << " x " << c.size.columns << (c.size.convolution ? ", convolution" : "")
        << ", T = " << c.predictions << ", largest side " << c.largest_side;
  }
}

TEST(TurnedSides, BothIsBothWhateverItCosts) {
  expect_cases({{Sides::both, {30, 20}, 1, 8192, "both"},
                {Sides::both, {20, 30}, unknown, 8192, "both"},
                {Sides::both, {30, 20}, unknown, 29, "right"},
                {Sides::both, {20, 30}, unknown, 29, "left"},
                {Sides::both, {30, 20}, unknown, 19, "none"}});
}

TEST(TurnedSides, TheSmallerSideWhateverItCosts) {
  expect_cases({{Sides::smaller, {30, 20}, 1, 8192, "right"},
                {Sides::smaller, {20, 30}, 1, 8192, "left"},
                {Sides::smaller, {20, 20}, 1, 8192, "left"},
                {Sides::smaller, {30, 20}, 1, 20, "right"},
                {Sides::smaller, {30, 20}, 1, 19, "none"}});
}

TEST(TurnedSides, AutomaticDecidesByTheCost) {
  expect_cases({{Sides::automatic, {30, 20}, 100, 8192, "both"},
                {Sides::automatic, {30, 20}, 99, 8192, "right"},
                {Sides::automatic, {20, 30}, 99, 8192, "left"},
                {Sides::automatic, {30, 20}, 40, 8192, "right"},
                {Sides::automatic, {30, 20}, 39, 8192, "none"},
                {Sides::automatic, {30, 20}, unknown, 8192, "both"},
                {Sides::automatic, {30, 20}, 1, 8192, "none"}});
}

TEST(TurnedSides, OfALongMatrixTheOtherSideCountsAlone) {
  expect_cases({{Sides::automatic, {300, 20}, 40, 100, "right"},
                {Sides::automatic, {300, 20}, 39, 100, "none"},
                {Sides::automatic, {20, 300}, 40, 100, "left"},
                {Sides::automatic, {300, 300}, unknown, 100, "none"}});
}

TEST(BlockLength, IsTheSideUnlessSquareBlocksFit) {
  const Kronecker square{.square_blocks = true};
  EXPECT_EQ(block_length({}, 300, 20), 300);
  EXPECT_EQ(block_length(square, 20, 300), 20) << "the shorter side is never cut";
  EXPECT_EQ(block_length(square, 300, 20), 20);
  EXPECT_EQ(block_length(square, 3072, 768), 768);
  EXPECT_EQ(block_length(square, 784, 50), 49) << "16 blocks of 49";
  EXPECT_EQ(block_length(square, 48, 16), 16);
  EXPECT_EQ(block_length(square, 45, 15), 45) << "blocks of 15 are shorter than 16";
  EXPECT_EQ(block_length(square, 62, 42), 31);
  EXPECT_EQ(block_length(square, 57, 42), 57) << "blocks of 19 are less than half of 42";
  EXPECT_EQ(block_length(square, 97, 50), 97) << "a prime";
  EXPECT_EQ(block_length(square, 7, 1), 7) << "a block of 1 is no basis";
}

TEST(BlockLength, TakesTheSidesPlaceInTheCost) {
  const Kronecker square{.sides = Sides::automatic, .cost = 0.5, .square_blocks = true};
  EXPECT_EQ(text_of(turned_sides(square, {300, 20}, 80, 8192)), "both");
  EXPECT_EQ(text_of(turned_sides(square, {300, 20}, 79, 8192)), "right") << "one block of 20 instead of 15";
  EXPECT_EQ(text_of(turned_sides(square, {300, 20}, 80, 20)), "both") << "blocks are within the largest side";
}

// A convolution sees at least 16 positions of each prediction.
TEST(TurnedSides, AConvolutionCountsItsPositions) {
  expect_cases({{Sides::automatic, {.rows = 400, .columns = 400, .convolution = true}, 100, 8192, "both"},
                {Sides::automatic, {.rows = 401, .columns = 400, .convolution = true}, 100, 8192, "right"},
                {Sides::automatic, {.rows = 801, .columns = 801, .convolution = true}, 100, 8192, "none"}});
}

TEST(TurnedSides, AVectorHasNone) {
  for (const Sides sides : {Sides::automatic, Sides::smaller, Sides::both}) {
    expect_cases({{sides, {1, 20}, unknown, 8192, "none"},
                  {sides, {20, 1}, unknown, 8192, "none"},
                  {sides, {1, 1}, unknown, 8192, "none"}});
  }
}

// L and Q_L, R and Q_R; 48 rows of 16 in three square blocks.
TEST(FactorNumbers, AreThoseOfFactorsAndBases) {
  Kronecker kronecker;
  const MatrixSize size{.rows = 48, .columns = 16};
  EXPECT_EQ(factor_numbers(kronecker, size, {}), 0);
  EXPECT_EQ(factor_numbers(kronecker, size, {.left = true, .right = true}), 2 * (48 * 48 + 16 * 16));
  EXPECT_EQ(factor_numbers(kronecker, size, {.right = true}), 2 * 16 * 16);
  kronecker.square_blocks = true;
  EXPECT_EQ(factor_numbers(kronecker, size, {.left = true, .right = true}), 2 * (3 * 16 * 16 + 16 * 16));
  EXPECT_EQ(factor_numbers(kronecker, size, {.left = true}), 2 * 3 * 16 * 16);
}

}  // namespace
}  // namespace lehi
