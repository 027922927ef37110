#include "plan/coefficients.h"

#include <cmath>
#include <stdexcept>

namespace lehi {
namespace {

using kernels::Form;
using kernels::UpdateCoefficients;

// v <- v_decay v + v_gain f for a refresh that covers n steps.
void set_accumulator(Accumulator accumulator, double beta2, std::int64_t covers, UpdateCoefficients& c) {
  const double decay = std::pow(beta2, static_cast<double>(covers));
  switch (accumulator) {
    case Accumulator::running_sum:
      c.v_decay = decay;
      c.v_gain = covers == 1 ? 1.0 : (1.0 - decay) / (1.0 - beta2);
      return;
    case Accumulator::ema:
    case Accumulator::ema_max:
      c.v_decay = decay;
      c.v_gain = 1.0 - decay;
      return;
    case Accumulator::ema_per_refresh:
      c.v_decay = beta2;
      c.v_gain = 1.0 - beta2;
      return;
    case Accumulator::plain_sum:
      c.v_decay = 1.0;
      c.v_gain = static_cast<double>(covers);
      return;
  }
}

// NAdam's momentum weight of step k.
double nadam_momentum(const Hyperparameters& numbers, std::int64_t step) {
  return numbers.beta1 * (1.0 - 0.5 * std::pow(0.96, static_cast<double>(step) * numbers.momentum_decay));
}

void set_radam(const Hyperparameters& numbers, std::int64_t covered, double correction, double m_correction,
               UpdateCoefficients& c) {
  const auto t = static_cast<double>(covered);
  const double power = std::pow(numbers.beta2, t);
  const double limit = 2.0 / (1.0 - numbers.beta2) - 1.0;
  const double length = limit - 2.0 * t * power / (1.0 - power);
  c.m_rate = numbers.lr / m_correction;
  if (length <= 5.0) {
    c.form = Form::linear;
    return;
  }
  const double rectification =
      std::sqrt((length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length));
  c.form = Form::scaled;
  c.m_rate *= rectification / std::sqrt(correction);
}

}  // namespace

double bias_correction(Accumulator accumulator, double beta2, std::int64_t steps_covered) {
  const double weight = 1.0 - std::pow(beta2, static_cast<double>(steps_covered));
  switch (accumulator) {
    case Accumulator::running_sum:
      return (1.0 - beta2) / weight;
    case Accumulator::ema:
    case Accumulator::ema_max:
      return 1.0 / weight;
    case Accumulator::ema_per_refresh:
    case Accumulator::plain_sum:
      return 1.0;
  }
  throw std::logic_error("bias_correction: unknown accumulator");
}

KeptState kept_state(const Recipe& recipe, const Hyperparameters& numbers) {
  KeptState kept;
  kept.m = (recipe.rule != Rule::sgd && recipe.rule != Rule::rmsprop) || numbers.momentum > 0.0;
  kept.v = keeps_v(recipe.rule);
  kept.v_max = kept.v && recipe.accumulator == Accumulator::ema_max;
  kept.momentum_product = recipe.rule == Rule::nadam;
  return kept;
}

bool awaits_refresh(const Recipe& recipe, const StepPlan& plan, const StepCounts& counts) {
  return keeps_v(recipe.rule) && counts.steps_covered == 0 && !plan.refreshes();
}

void count_step(const Recipe& recipe, const Hyperparameters& numbers, const StepPlan& plan, StepCounts& counts) {
  ++counts.step;
  counts.steps_covered += plan.covers;
  if (recipe.rule == Rule::nadam) counts.momentum_product *= nadam_momentum(numbers, counts.step);
}

kernels::UpdateCoefficients coefficients(const CoefficientInputs& in) {
  const Hyperparameters& numbers = in.numbers;
  const StepCounts& counts = in.counts;
  UpdateCoefficients c;
  c.g_factor = in.g_factor;
  c.s_factor = in.s_factor;
  c.eps = numbers.eps;
  if (in.recipe.decay == Decay::decoupled) c.w_decay = 1.0 - numbers.lr * numbers.weight_decay;
  double correction = 1.0;
  if (keeps_v(in.recipe.rule)) {
    c.feed = in.plan.feed;
    set_accumulator(in.recipe.accumulator, numbers.beta2, in.plan.covers, c);
    correction = bias_correction(in.recipe.accumulator, numbers.beta2, counts.steps_covered);
  }
  // m of adam and its kin, and its bias correction; the other rules overwrite it.
  c.m_decay = numbers.beta1;
  c.m_gain = 1.0 - numbers.beta1;
  const double m_correction = 1.0 - std::pow(numbers.beta1, static_cast<double>(counts.step));

  switch (in.recipe.rule) {
    case Rule::adam:
      c.form = Form::scaled;
      c.m_rate = numbers.lr / m_correction;
      c.v_scale = std::sqrt(correction);
      break;
    case Rule::adam_simplified:
      c.form = Form::root_sum;
      c.m_gain = 1.0;
      c.m_rate = numbers.lr * (1.0 - numbers.beta1) / std::sqrt(correction);
      break;
    case Rule::nadam: {
      const double now = nadam_momentum(numbers, counts.step);
      const double next = nadam_momentum(numbers, counts.step + 1);
      c.form = Form::scaled;
      c.m_rate = numbers.lr * next / (1.0 - counts.momentum_product * next);
      c.g_rate = numbers.lr * (1.0 - now) / (1.0 - counts.momentum_product);
      c.v_scale = std::sqrt(correction);
      break;
    }
    case Rule::radam:
      set_radam(numbers, counts.steps_covered, correction, m_correction, c);
      break;
    case Rule::sophia:
      c.form = Form::clipped;
      c.m_rate = numbers.lr;
      c.v_scale = numbers.rho * in.count * correction;
      break;
    case Rule::sgd:
      c.form = Form::linear;
      // torch's buffer starts as the first gradient itself, undampened.
      c.m_decay = numbers.momentum;
      c.m_gain = counts.step == 1 ? 1.0 : 1.0 - numbers.dampening;
      c.m_rate = numbers.momentum > 0.0 ? numbers.lr * (numbers.nesterov ? numbers.momentum : 1.0) : 0.0;
      c.g_rate = numbers.momentum == 0.0 || numbers.nesterov ? numbers.lr : 0.0;
      break;
    case Rule::rmsprop:
      c.form = numbers.momentum > 0.0 ? Form::quotient : Form::scaled;
      c.m_decay = numbers.momentum;
      c.m_rate = numbers.lr;
      c.g_rate = numbers.lr;
      break;
    case Rule::lion:
      c.form = Form::sign;
      c.m_decay = numbers.beta2;
      c.m_gain = 1.0 - numbers.beta2;
      c.m_rate = numbers.lr;
      c.v_scale = numbers.beta1;
      c.g_rate = 1.0 - numbers.beta1;
      break;
  }
  return c;
}

std::optional<double> eps_limit(const Recipe& recipe, const Hyperparameters& numbers, const StepCounts& counts,
                                double count) {
  if (!keeps_v(recipe.rule) || counts.steps_covered == 0) return std::nullopt;
  const double correction = bias_correction(recipe.accumulator, numbers.beta2, counts.steps_covered);
  switch (recipe.rule) {
    case Rule::adam_simplified:
      return numbers.eps;
    case Rule::sophia:
      if (!(count > 0.0)) return std::nullopt;
      return numbers.eps / (numbers.rho * count * correction);
    default:
      return numbers.eps * numbers.eps / correction;
  }
}

double probe_factor(Scale scale, double weight, double count) {
  return scale == Scale::sqrt_n ? std::sqrt(weight / count) : weight / count;
}

}  // namespace lehi
