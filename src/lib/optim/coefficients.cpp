#include "optim/coefficients.h"

#include <cmath>

namespace lehi {
namespace {

using kernels::Feed;
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

void set_radam(const GroupOptions& group, std::int64_t covered, double correction, double m_correction,
               UpdateCoefficients& c) {
  const auto t = static_cast<double>(covered);
  const double power = std::pow(group.beta2, t);
  const double limit = 2.0 / (1.0 - group.beta2) - 1.0;
  const double length = limit - 2.0 * t * power / (1.0 - power);
  c.m_rate = group.lr / m_correction;
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

Feed feed_of(const Recipe& recipe, const Refresh& refresh) {
  if (!refresh.due || !keeps_curvature(recipe)) return Feed::nothing;
  if (refresh.use_gradient) return Feed::gradient;
  switch (recipe.mix) {
    case Mix::none:
      return Feed::probe;
    case Mix::sum:
      return Feed::probe_plus_gradient;
    case Mix::max:
      return Feed::larger;
  }
  TORCH_INTERNAL_ASSERT(false, "unknown mix");
}

double bias_correction(Accumulator accumulator, double beta2, std::int64_t covered) {
  const double weight = 1.0 - std::pow(beta2, static_cast<double>(covered));
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
  TORCH_INTERNAL_ASSERT(false, "unknown accumulator");
}

double nadam_momentum(const GroupOptions& group, std::int64_t step) {
  return group.beta1 * (1.0 - 0.5 * std::pow(0.96, static_cast<double>(step) * group.momentum_decay));
}

bool keeps_first_moment(const Recipe& recipe, const GroupOptions& group) {
  return (recipe.rule != Rule::sgd && recipe.rule != Rule::rmsprop) || group.momentum > 0.0;
}

bool keeps_curvature(const Recipe& recipe) { return recipe.rule != Rule::sgd; }

kernels::UpdateCoefficients coefficients(const CoefficientInputs& in) {
  const GroupOptions& group = in.group;
  const ParameterState& state = in.state;
  UpdateCoefficients c;
  c.g_factor = in.g_factor;
  c.s_factor = in.s_factor;
  c.eps = group.eps;
  c.w_decay = 1.0 - group.lr * group.weight_decay;
  double correction = 1.0;
  if (keeps_curvature(in.recipe)) {
    c.feed = feed_of(in.recipe, in.refresh);
    set_accumulator(in.recipe.accumulator, group.beta2, in.refresh.covers, c);
    correction = bias_correction(in.recipe.accumulator, group.beta2, state.covered);
  }
  // m of adam and its kin, and its bias correction; the other rules overwrite it.
  c.m_decay = group.beta1;
  c.m_gain = 1.0 - group.beta1;
  const double m_correction = 1.0 - std::pow(group.beta1, static_cast<double>(state.step));

  switch (in.recipe.rule) {
    case Rule::adam:
      c.form = Form::scaled;
      c.m_rate = group.lr / m_correction;
      c.v_scale = std::sqrt(correction);
      break;
    case Rule::adam_simplified:
      c.form = Form::root_sum;
      c.m_gain = 1.0;
      c.m_rate = group.lr * (1.0 - group.beta1) / std::sqrt(correction);
      break;
    case Rule::nadam: {
      const double now = nadam_momentum(group, state.step);
      const double next = nadam_momentum(group, state.step + 1);
      c.form = Form::scaled;
      c.m_rate = group.lr * next / (1.0 - state.momentum_product * next);
      c.g_rate = group.lr * (1.0 - now) / (1.0 - state.momentum_product);
      c.v_scale = std::sqrt(correction);
      break;
    }
    case Rule::radam:
      set_radam(group, state.covered, correction, m_correction, c);
      break;
    case Rule::sophia:
      c.form = Form::clipped;
      c.m_rate = group.lr;
      c.v_scale = group.rho * in.count * correction;
      break;
    case Rule::sgd:
      c.form = Form::linear;
      // torch's buffer starts as the first gradient itself, undampened.
      c.m_decay = group.momentum;
      c.m_gain = state.step == 1 ? 1.0 : 1.0 - group.dampening;
      c.m_rate = group.momentum > 0.0 ? group.lr * (group.nesterov ? group.momentum : 1.0) : 0.0;
      c.g_rate = group.momentum == 0.0 || group.nesterov ? group.lr : 0.0;
      break;
    case Rule::rmsprop:
      c.form = group.momentum > 0.0 ? Form::quotient : Form::scaled;
      c.m_decay = group.momentum;
      c.m_rate = group.lr;
      c.g_rate = group.lr;
      break;
  }
  return c;
}

}  // namespace lehi
