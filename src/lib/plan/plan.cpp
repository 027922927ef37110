#include "plan/plan.h"

#include <stdexcept>

namespace lehi {
namespace {

using kernels::Feed;

// What the schedule alone says of a step.
struct Refresh {
  bool due = false;
  bool use_gradient = false;  // instead of the probe
  std::int64_t covers = 0;
};

Refresh refresh_at(const Schedule& schedule, std::int64_t step) {
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
  }
  throw std::logic_error("plan_step: unknown mix");
}

}  // namespace

StepPlan plan_step(const Recipe& recipe, std::int64_t step) {
  Refresh refresh = refresh_at(recipe.schedule, step);
  if (recipe.probe == Probe::gradient) refresh.use_gradient = true;
  // With a mix g^2 enters at every step: a v that sees curvature only now and then has no brake when gradients grow.
  if (recipe.mix != Mix::none && !refresh.due) refresh = {.due = true, .use_gradient = true, .covers = 1};
  StepPlan plan;
  plan.covers = refresh.covers;
  if (!refresh.due || recipe.rule == Rule::sgd) return plan;  // sgd keeps no v
  plan.feed = refresh.use_gradient ? Feed::gradient : probe_feed(recipe.mix);
  return plan;
}

}  // namespace lehi
