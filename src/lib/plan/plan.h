// What one step of a recipe needs. The schedule, the mix and the rule are read here and nowhere else: the backward
// pass, the checks and the update all ask the plan.
#pragma once

#include <cstdint>

#include "kernels/update.h"
#include "lehi/recipe.h"

namespace lehi {

struct StepPlan {
  kernels::Feed feed = kernels::Feed::nothing;  ///< what enters v
  std::int64_t covers = 0;                      ///< steps that this refresh stands for; 0 between refreshes
  bool probe_factors = false;     ///< kronecker: before the update the probe enters L and R, which make new bases
  bool gradient_factors = false;  ///< kronecker: g enters them after the update
  bool gradient_bases = false;    ///< and they make new bases

  /// v changes.
  bool refreshes() const { return feed != kernels::Feed::nothing; }
  /// v is made from the probe.
  bool squares_probe() const { return refreshes() && feed != kernels::Feed::gradient; }
  /// The probe is pulled back, for v or for the factors.
  bool second_backward() const { return squares_probe() || probe_factors; }
  /// v is made from the gradient, alone or with the probe.
  bool squares_gradient() const { return refreshes() && feed != kernels::Feed::probe; }
};

/// The rule divides by a v.
bool keeps_v(Rule rule);

/// The plan of step k = 1, 2, ... of the schedule.
StepPlan plan_step(const Recipe& recipe, std::int64_t step);

}  // namespace lehi
