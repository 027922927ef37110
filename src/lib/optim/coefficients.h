// From a rule's equations (lehi/recipe.h) to the scalars of the update kernel.
#pragma once

#include "kernels/update.h"
#include "lehi/optimizer.h"

namespace lehi {

/// What a step's coefficients depend on, for one parameter. `state` has already counted this step.
struct CoefficientInputs {
  const Recipe& recipe;
  const GroupOptions& group;
  const ParameterState& state;
  Refresh refresh;
  double count;  ///< B of Sophia-G
  double g_factor;
  double s_factor;
};

kernels::UpdateCoefficients coefficients(const CoefficientInputs& inputs);

/// hat(v) = v * correction: the bias correction of an accumulator after t covered steps.
double bias_correction(Accumulator accumulator, double beta2, std::int64_t covered);

/// NAdam's momentum weight of step k.
double nadam_momentum(const GroupOptions& group, std::int64_t step);

/// What enters the accumulator at a step.
kernels::Feed feed_of(const Recipe& recipe, const Refresh& refresh);

/// Which state a rule keeps.
bool keeps_first_moment(const Recipe& recipe, const GroupOptions& group);
bool keeps_curvature(const Recipe& recipe);

}  // namespace lehi
