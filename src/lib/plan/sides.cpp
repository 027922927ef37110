#include "plan/sides.h"

#include <algorithm>

namespace lehi {
namespace {

// How many positions of a convolution a row of the batch has, at least: 4 x 4 in the last stage of a ResNet for CIFAR,
// 7 x 7 in one for ImageNet.
constexpr double positions = 16.0;

// Products with shorter blocks take longer than with the whole side.
constexpr std::int64_t shortest_block = 16;

}  // namespace

std::int64_t block_length(const Kronecker& kronecker, std::int64_t side, std::int64_t other) {
  if (!kronecker.square_blocks || side <= other) return side;
  for (std::int64_t length = other; 2 * length >= other && length >= shortest_block; --length) {
    if (side % length == 0) return length;
  }
  return side;
}

TurnedSides turned_sides(const Kronecker& kronecker, const MatrixSize& size, double predictions,
                         std::int64_t largest_side) {
  const std::int64_t left = block_length(kronecker, size.rows, size.columns);
  const std::int64_t right = block_length(kronecker, size.columns, size.rows);
  const auto fits = [&](std::int64_t side) { return side > 1 && side <= largest_side; };
  TurnedSides sides{.left = fits(left), .right = fits(right)};
  if (size.rows <= 1 || size.columns <= 1) return {};
  if (!sides.any() || kronecker.sides == Sides::both) return sides;

  const double limit = kronecker.cost * predictions * (size.convolution ? positions : 1.0);
  const auto total = static_cast<double>((sides.left ? left : 0) + (sides.right ? right : 0));
  const bool automatic = kronecker.sides == Sides::automatic;
  if (automatic && total <= limit) return sides;
  if (sides.left && sides.right) (size.rows <= size.columns ? sides.right : sides.left) = false;
  const auto kept = static_cast<double>(sides.left ? left : right);
  return automatic && kept > limit ? TurnedSides{} : sides;
}

std::int64_t factor_numbers(const Kronecker& kronecker, const MatrixSize& size, const TurnedSides& sides) {
  std::int64_t numbers = 0;
  if (sides.left) numbers += 2 * size.rows * block_length(kronecker, size.rows, size.columns);
  if (sides.right) numbers += 2 * size.columns * block_length(kronecker, size.columns, size.rows);
  return numbers;
}

bool is_named(const std::string& name, const std::vector<std::string>& names) {
  const auto listed = [&](const std::string& word) {
    return std::find(names.begin(), names.end(), word) != names.end();
  };
  if (listed(name)) return true;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find_first_of("._", begin), name.size());
    if (listed(name.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace lehi
