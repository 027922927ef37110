// Statistics of an optimizer's state: the curvature that it keeps, and where eps or clipping outweigh it.
#pragma once

#include <vector>

#include "optim/parts.h"

namespace lehi {

/// The bias-corrected v; undefined before the first refresh.
torch::Tensor kept_curvature(const Recipe& recipe, const ParameterState* state, const GroupOptions& group);

/// Fraction of all weights where eps outweighs v; 0 where no v is kept.
double eps_dominated(const OptimizerParts& parts, const Groups& groups, const States& states);

/// Fills the report's groups after an update; `before`: copies of the parameters, one by one.
void diagnose(OptimizerParts& parts, const Groups& groups, const States& states, const Tensors& before);

}  // namespace lehi
