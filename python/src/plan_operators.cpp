// From a recipe to the plan and the coefficients of a step.
#include "kernels/level.h"
#include "operators.h"
#include "plan/coefficients.h"
#include "plan/plan.h"
#include "plan/sides.h"
#include "recipe_text.h"
#include "runtime/message.h"

namespace lehi::python {
namespace {

StepPlan checked_plan(const Recipe& recipe, std::int64_t step) {
  if (step < 1) throw_invalid_argument("the step of the schedule is {}, but steps are counted from 1", step);
  return plan_step(recipe, step);
}

}  // namespace

std::string presets() { return presets_as_json(); }

std::string check_recipe(std::string recipe, Floats numbers) {
  const Recipe parts = recipe_from(recipe);
  numbers_from(numbers, parts.rule);
  return to_string(parts);
}

std::string recipe_difference(std::string saved, std::string recipe) { return difference(saved, recipe_from(recipe)); }

Ints plan_of_step(std::string recipe, std::int64_t step) {
  const StepPlan plan = checked_plan(recipe_from(recipe), step);
  return {static_cast<std::int64_t>(plan.feed),
          plan.covers,
          plan.refreshes(),
          plan.second_backward(),
          plan.squares_probe(),
          plan.squares_gradient(),
          plan.probe_factors,
          plan.gradient_factors,
          plan.gradient_bases};
}

Floats coefficients_of_step(std::string recipe_text, Floats list, std::int64_t schedule_step, std::int64_t step,
                            std::int64_t steps_covered, double momentum_product, double count) {
  const Recipe recipe = recipe_from(recipe_text);
  const Hyperparameters numbers = numbers_from(list, recipe.rule);
  const StepPlan plan = checked_plan(recipe, schedule_step);
  StepCounts counts{.step = step, .steps_covered = steps_covered, .momentum_product = momentum_product};
  if (step < 0 || steps_covered < 0) {
    throw_invalid_argument("a parameter's counts are {} steps, {} covered, but must be 0 or more", step, steps_covered);
  }
  const KeptState kept = kept_state(recipe, numbers);
  const bool updates = !awaits_refresh(recipe, plan, counts);
  kernels::UpdateCoefficients c;
  if (updates) {
    count_step(recipe, numbers, plan, counts);
    c = coefficients({.recipe = recipe, .numbers = numbers, .counts = counts, .plan = plan, .count = count});
  }
  const bool coupled = recipe.decay == Decay::coupled;
  return {updates ? 1.0 : 0.0,
          static_cast<double>(counts.step),
          static_cast<double>(counts.steps_covered),
          counts.momentum_product,
          kept.m ? 1.0 : 0.0,
          kept.v ? 1.0 : 0.0,
          kept.v_max ? 1.0 : 0.0,
          static_cast<double>(c.form),
          static_cast<double>(c.feed),
          c.g_factor,
          c.s_factor,
          c.v_decay,
          c.v_gain,
          c.v_scale,
          c.m_decay,
          c.m_gain,
          c.m_rate,
          c.g_rate,
          c.w_decay,
          c.eps,
          coupled ? numbers.weight_decay : 0.0};
}

double factor_of_probe(std::string scale, double weight, double count) {
  return probe_factor(scale_from_name(scale), weight, count);
}

Ints matrix_blocks(std::string recipe_text, std::int64_t rows, std::int64_t columns, bool convolution,
                   double predictions, std::int64_t largest_side) {
  const Kronecker kronecker = recipe_from(recipe_text).kronecker;
  const MatrixSize size{.rows = rows, .columns = columns, .convolution = convolution};
  const TurnedSides sides = turned_sides(kronecker, size, predictions, largest_side);
  return {sides.left ? block_length(kronecker, rows, columns) : 0,
          sides.right ? block_length(kronecker, columns, rows) : 0};
}

std::string loop_level() {
  switch (kernels::loop_level()) {
    case kernels::Level::baseline:
      return "baseline";
    case kernels::Level::v3:
      return "x86-64-v3";
    case kernels::Level::v4:
      return "x86-64-v4";
  }
  return "";
}

}  // namespace lehi::python
