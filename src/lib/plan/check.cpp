// Ranges of a recipe and its numbers.
#include "lehi/recipe.h"
#include "plan/ranges.h"

namespace lehi {
namespace {

constexpr double largest = std::numeric_limits<double>::max();
// Of rates: their products with each other and with bias corrections, which are below 2^53, stay finite in float32.
constexpr double largest_rate = 1e18;
// Of schedules: their sums stay far from the end of int64.
constexpr std::int64_t most_steps = std::int64_t{1} << 40;

}  // namespace

void check(const Hyperparameters& numbers, Rule rule) {
  check_range("lr", numbers.lr, 0.0, largest_rate, "in [0, 1e18]");
  check_range("beta1", numbers.beta1, 0.0, below_one, "in [0, 1)");
  check_range("beta2", numbers.beta2, 0.0, below_one, "in [0, 1)");
  if (rule == Rule::adam_simplified) {
    check_range("eps", numbers.eps, above_zero, largest, "a finite number > 0 (it stands inside the root)");
  } else {
    check_range("eps", numbers.eps, 0.0, largest, "a finite number >= 0");
  }
  check_range("weight_decay", numbers.weight_decay, 0.0, largest_rate, "in [0, 1e18]");
  check_range("momentum", numbers.momentum, 0.0, 1.0, "in [0, 1]");
  check_range("dampening", numbers.dampening, 0.0, 1.0, "in [0, 1]");
  check_range("momentum_decay", numbers.momentum_decay, 0.0, largest, "a finite number >= 0");
  check_range("rho", numbers.rho, above_zero, largest_rate, "in (0, 1e18]");
  check_range("beta3", numbers.beta3, 0.0, below_one, "in [0, 1)");
  if (numbers.nesterov && (numbers.momentum == 0.0 || numbers.dampening != 0.0)) {
    throw_invalid_argument("nesterov needs momentum > 0 and dampening 0, but momentum is {} and dampening {}",
                           numbers.momentum, numbers.dampening);
  }
}

void check(const Recipe& recipe) {
  const Schedule& schedule = recipe.schedule;
  if (schedule.every < 1 || schedule.every > most_steps) {
    throw_invalid_argument("schedule.every, the refresh spacing, is {}, but must be from 1 to {}", schedule.every,
                           most_steps);
  }
  if (schedule.dense < 0 || schedule.dense > most_steps) {
    throw_invalid_argument("schedule.dense, the dense start, is {}, but must be from 0 to {}", schedule.dense,
                           most_steps);
  }
  if (schedule.doubling && (schedule.dense != 0 || schedule.alternate)) {
    throw_invalid_argument("schedule.doubling can't be joined with {}: set doubling to false",
                           schedule.dense != 0 ? "a dense start" : "alternate");
  }
  const Kronecker& kronecker = recipe.kronecker;
  check_range("kronecker.cost", kronecker.cost, above_zero, std::numeric_limits<double>::max(), "a number > 0");
  if (kronecker.basis_every < 1 || kronecker.basis_every > most_steps) {
    throw_invalid_argument("kronecker.basis_every is {}, but must be from 1 to {}", kronecker.basis_every, most_steps);
  }
  check_range("kronecker.step_factor", kronecker.step_factor, above_zero, 1e18, "a number > 0, at most 1e18");
  if (recipe.mix == Mix::gradient && recipe.shape != Shape::kronecker) {
    throw_invalid_argument("mix gradient leaves the probe to the kronecker shape's factors, but the shape is {}",
                           name(recipe.shape));
  }
  if (recipe.shape == Shape::kronecker && recipe.probe == Probe::gradient &&
      recipe.kronecker.factors != FactorSource::gradient) {
    throw_invalid_argument("factors from the {} need a probe, but the probe is the gradient: choose factors gradient",
                           name(recipe.kronecker.factors));
  }
}

}  // namespace lehi
