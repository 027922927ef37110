// The update of one parameter: its state, the step's coefficients, the kernel.
#pragma once

#include "optim/parameters.h"
#include "optim/rank_team.h"
#include "optim/terms.h"
#include "plan/plan.h"

namespace lehi {

/// What all parameters' updates of a step share.
struct Updater {
  const Recipe& recipe;
  const ParameterTable& parameters;
  const RankTeam& ranks;
  StepPlan plan;
  Factors factors;     ///< of g (clipping included) and s
  double count = 1.0;  ///< B in Sophia-G

  /// s may be undefined: a parameter that only the regulariser reaches has no curvature.
  void update(States& states, std::size_t index, const torch::Tensor& g, const torch::Tensor& s) const;
};

/// Zeros as a parameter's moments start: in its memory order, at least float32; this rank's piece where the state is
/// divided.
torch::Tensor zero_moment(const torch::Tensor& parameter, std::size_t index, const RankTeam& ranks);

/// The state of a parameter, or nullptr before its first step.
const ParameterState* find_state(const States& states, const torch::Tensor& parameter);

}  // namespace lehi
