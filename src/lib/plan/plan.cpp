#include "plan/plan.h"

#include <algorithm>
#include <stdexcept>

namespace lehi {

bool keeps_v(Rule rule) { return rule != Rule::sgd && rule != Rule::lion; }

namespace {

using kernels::Feed;

// What the schedule alone says of a step.
struct Refresh {
  bool due = false;
  bool use_gradient = false;  // instead of the probe
  std::int64_t covers = 0;
};

bool is_power_of_two(std::int64_t step) { return (step & (step - 1)) == 0; }

// Steps 1, 2, 4, ... up to the spacing, then its multiples.
Refresh doubling_refresh_at(const Schedule& schedule, std::int64_t step) {
  if (step >= schedule.every) {
    const bool due = step % schedule.every == 0;
    return {.due = due, .covers = due ? schedule.every : 0};
  }
  if (!is_power_of_two(step)) return {};
  return {.due = true, .covers = std::min(2 * step, schedule.every) - step};
}

Refresh refresh_at(const Schedule& schedule, std::int64_t step) {
  if (schedule.doubling) return doubling_refresh_at(schedule, step);
  const std::int64_t past_dense = step - 1 - schedule.dense;
  Refresh refresh;
  std::int64_t index = step - 1;  // number of refreshes before this one
  if (past_dense < 0) {
    refresh.due = true;
    refresh.covers = 1;
  } else if (past_dense % schedule.every == 0) {
    refresh.due = true;
    refresh.covers = schedule.every;
    index = schedule.dense + past_dense / schedule.every;
  }
  refresh.use_gradient = refresh.due && schedule.alternate && index % 2 == 1;
  return refresh;
}

Feed probe_feed(Mix mix) {
  switch (mix) {
    case Mix::none:
      return Feed::probe;
    case Mix::sum:
      return Feed::probe_plus_gradient;
    case Mix::max:
      return Feed::larger;
    case Mix::gradient:
      return Feed::gradient;
  }
  throw std::logic_error("plan_step: unknown mix");
}

// Whether the kronecker shape's factors and bases change.
void plan_factors(const Recipe& recipe, const Refresh& refresh, std::int64_t step, StepPlan& plan) {
  if (recipe.shape != Shape::kronecker) return;
  const Kronecker& kronecker = recipe.kronecker;
  plan.probe_factors = kronecker.factors != FactorSource::gradient && refresh.due && !refresh.use_gradient;
  plan.gradient_factors = kronecker.factors == FactorSource::both || kronecker.factors == FactorSource::gradient;
  const Schedule bases{.every = kronecker.basis_every, .doubling = recipe.schedule.doubling};
  plan.gradient_bases = plan.gradient_factors && refresh_at(bases, step).due;
}

}  // namespace

StepPlan plan_step(const Recipe& recipe, std::int64_t step) {
  Refresh refresh = refresh_at(recipe.schedule, step);
  if (recipe.probe == Probe::gradient) refresh.use_gradient = true;
  StepPlan plan;
  plan_factors(recipe, refresh, step, plan);
  // With a mix g^2 enters at every step: a v that sees curvature only now and then has no brake when gradients grow.
  if (recipe.mix != Mix::none && !refresh.due) refresh = {.due = true, .use_gradient = true, .covers = 1};
  if (recipe.mix != Mix::none && recipe.shape == Shape::kronecker) refresh.covers = 1;
  plan.covers = refresh.covers;
  if (!refresh.due || !keeps_v(recipe.rule)) return plan;
  plan.feed = refresh.use_gradient ? Feed::gradient : probe_feed(recipe.mix);
  return plan;
}

}  // namespace lehi
