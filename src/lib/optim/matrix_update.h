// The update of a parameter that is taken as a matrix (lehi/recipe.h: Shape): kronecker and orthogonal.
#pragma once

#include <cstdint>
#include <vector>

#include "lehi/optimizer.h"
#include "ops/rounding.h"
#include "optim/terms.h"
#include "plan/plan.h"
#include "plan/sides.h"

namespace lehi {

struct MatrixStep {
  const Recipe& recipe;
  const Hyperparameters& numbers;
  StepPlan plan;
  Factors factors;                   ///< of g and s
  double count = 1.0;                ///< B in Sophia-G
  std::uint64_t random_factors = 0;  ///< seed of FactorSource::random
  ops::WeightRounding rounding = {};
};

/// A parameter as a matrix.
MatrixSize matrix_size(const torch::Tensor& parameter);

/// The sizes of the factor, and of the basis, of a side whose matrix has `other` as its other side.
std::vector<std::int64_t> factor_sizes(const Kronecker& kronecker, std::int64_t side, std::int64_t other);

/// The state that a matrix starts with: zeros, on the parameter's device, and no bases.
void begin_matrix(const Recipe& recipe, const Hyperparameters& numbers, const torch::Tensor& parameter,
                  ParameterState& state);

/// One step of a matrix whose state has begun. s may be undefined: a zero matrix. A kronecker matrix is neither updated
/// nor counted before it has bases.
void update_matrix(const MatrixStep& step, const torch::Tensor& parameter, const torch::Tensor& g,
                   const torch::Tensor& s, ParameterState& state);

}  // namespace lehi
