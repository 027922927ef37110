// An optimizer in one sentence.
#include "optim/parts.h"
#include "plan/coefficients.h"
#include "runtime/message.h"

namespace lehi {

std::string Optimizer::describe() const {
  const Options& options = parts_->options;
  const Recipe& recipe = options.recipe;
  const Schedule& schedule = recipe.schedule;
  std::string when = schedule.every == 1 ? "every step" : fmt::format("every {} steps", schedule.every);
  if (schedule.dense > 0 && schedule.every > 1) when += fmt::format(" after {} dense ones", schedule.dense);
  if (schedule.doubling && schedule.every > 1) when = fmt::format("at steps 1, 2, 4, ... and every {}", schedule.every);
  if (schedule.alternate) when += ", alternating with the gradient";
  const GroupOptions& group = options.group;
  std::string text = fmt::format("{}: {} probe {}", options.name, name(recipe.probe), when);
  if (kept_state(recipe, group).v) text += fmt::format(", {} accumulator", name(recipe.accumulator));
  if (recipe.mix != Mix::none) text += fmt::format(", mixed with g^2 ({})", name(recipe.mix));
  text += fmt::format(", {} rule", name(recipe.rule));
  if (recipe.probe != Probe::gradient) text += fmt::format(", {} scale", name(recipe.scale));
  if (recipe.shape != Shape::diagonal) text += fmt::format(", {} shape", name(recipe.shape));
  if (recipe.shape == Shape::kronecker) {
    const Kronecker& kronecker = recipe.kronecker;
    const bool both = kronecker.factors == FactorSource::both;
    const bool from_gradient = both || kronecker.factors == FactorSource::gradient;
    text += fmt::format(" ({} sides{}, factors from {}", name(kronecker.sides),
                        kronecker.square_blocks ? " in square blocks" : "",
                        both ? "probe and gradient" : fmt::format("the {}", name(kronecker.factors)));
    if (from_gradient && kronecker.basis_every > 1)
      text += fmt::format(", bases every {} steps", kronecker.basis_every);
    if (kronecker.step_factor != 1.0) text += fmt::format(", step factor {}", kronecker.step_factor);
    text += ")";
  }
  text += fmt::format("; lr {}", group.lr);
  if (recipe.rule == Rule::sgd) {
    text += fmt::format(", momentum {}{}", group.momentum, group.nesterov ? " (Nesterov)" : "");
  } else if (recipe.rule == Rule::rmsprop) {
    text += fmt::format(", beta2 {}, momentum {}, eps {}", group.beta2, group.momentum, group.eps);
  } else {
    text += fmt::format(", betas ({}, {}), eps {}", group.beta1, group.beta2, group.eps);
  }
  if (recipe.shape == Shape::orthogonal) text += fmt::format(", momentum {}", group.momentum);
  if (recipe.shape == Shape::kronecker) text += fmt::format(", beta3 {}", group.beta3);
  if (recipe.rule == Rule::sophia) text += fmt::format(", rho {}", group.rho);
  text += fmt::format(", weight decay {}", group.weight_decay);
  if (options.clip_norm) text += fmt::format(", clip norm {}", *options.clip_norm);
  return text;
}

}  // namespace lehi
