// From a rule's equations (lehi/recipe.h) to the scalars of the update kernel, and what else follows from a recipe and
// a parameter's step counts. No LibTorch: the C++ library and other bindings share these functions.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/update.h"
#include "lehi/recipe.h"
#include "plan/plan.h"

namespace lehi {

/// The state that a recipe keeps for each parameter.
struct KeptState {
  bool m = false;
  bool v = false;
  bool v_max = false;
  bool momentum_product = false;
};
KeptState kept_state(const Recipe& recipe, const Hyperparameters& numbers);

/// True while a parameter has no v to divide by: until its first refresh it is not updated.
bool awaits_refresh(const Recipe& recipe, const StepPlan& plan, const StepCounts& counts);

/// Counts one step of a parameter.
void count_step(const Recipe& recipe, const Hyperparameters& numbers, const StepPlan& plan, StepCounts& counts);

/// What a step's coefficients depend on, for one parameter. `counts` includes this step.
struct CoefficientInputs {
  const Recipe& recipe;
  const Hyperparameters& numbers;
  const StepCounts& counts;
  StepPlan plan;
  double count = 1.0;  ///< number of averaged predictions, B in Sophia-G
  double g_factor = 1.0;
  double s_factor = 1.0;
};
kernels::UpdateCoefficients coefficients(const CoefficientInputs& inputs);

/// hat(v) = v * correction: the bias correction of an accumulator after so many covered steps.
double bias_correction(Accumulator accumulator, double beta2, std::int64_t steps_covered);

/// The v below which eps outweighs it in the rule's denominator; nothing while no v is kept.
std::optional<double> eps_limit(const Recipe& recipe, const Hyperparameters& numbers, const StepCounts& counts,
                                double count);

/// The factor of the pulled-back probe of a loss term with this weight that averages over `count` predictions.
double probe_factor(Scale scale, double weight, double count);

}  // namespace lehi
