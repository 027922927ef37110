#include "plan/sides.h"

#include <algorithm>

namespace lehi {
namespace {

// How many positions of a convolution a row of the batch has, at least: 4 x 4 in the last stage of a ResNet for CIFAR,
// 7 x 7 in one for ImageNet.
constexpr double positions = 16.0;

}  // namespace

TurnedSides turned_sides(const Kronecker& kronecker, const MatrixSize& size, double predictions,
                         std::int64_t largest_side) {
  const auto fits = [&](std::int64_t side) { return side > 1 && side <= largest_side; };
  TurnedSides sides{.left = fits(size.rows), .right = fits(size.columns)};
  if (size.rows <= 1 || size.columns <= 1) return {};
  if (!sides.any() || kronecker.sides == Sides::both) return sides;

  const double limit = kronecker.cost * predictions * (size.convolution ? positions : 1.0);
  const auto total = static_cast<double>((sides.left ? size.rows : 0) + (sides.right ? size.columns : 0));
  const bool automatic = kronecker.sides == Sides::automatic;
  if (automatic && total <= limit) return sides;
  if (sides.left && sides.right) (size.rows <= size.columns ? sides.right : sides.left) = false;
  const auto kept = static_cast<double>(sides.left ? size.rows : size.columns);
  return automatic && kept > limit ? TurnedSides{} : sides;
}

}  // namespace lehi
