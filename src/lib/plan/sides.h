// Which sides of a matrix get a Kronecker factor. No LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lehi/recipe.h"

namespace lehi {

/// A parameter as out x (all other dimensions).
struct MatrixSize {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  bool convolution = false;  ///< more than two dimensions
};

/// The length of the blocks of a side whose matrix has `other` as its other side: `side` itself if it is not cut.
std::int64_t block_length(const Kronecker& kronecker, std::int64_t side, std::int64_t other);

struct TurnedSides {
  bool left = false;   ///< the rows' side: L
  bool right = false;  ///< the columns' side: R

  bool any() const { return left || right; }
};

/// `predictions`: how many a step averages over, infinity where that is unknown. Sides of length 1, and those with
/// blocks longer than `largest_side`, are never turned.
TurnedSides turned_sides(const Kronecker& kronecker, const MatrixSize& size, double predictions,
                         std::int64_t largest_side);

/// How many numbers the factors and bases of a matrix have: L and Q_L, R and Q_R, each in its blocks.
std::int64_t factor_numbers(const Kronecker& kronecker, const MatrixSize& size, const TurnedSides& sides);

/// Whether a parameter's name, or a word of it, is one of `names` (lehi/options.h: ShapeRules): "head" is a word of
/// lm_head.weight, not of multihead.weight.
bool is_named(const std::string& name, const std::vector<std::string>& names);

}  // namespace lehi
