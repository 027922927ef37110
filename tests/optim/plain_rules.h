// The recipes of lehi/recipe.h once more, weight by weight in double, straight from the equations of its comments: an
// independent check of src/lib/plan (what a step needs, and its scalars) and of the kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "lehi/options.h"

namespace lehi::testing {

/// One weight and its state; `size` bounds what rounding is relative to: |w| and every term that was added to it.
struct PlainWeight {
  double w = 0.0;
  double m = 0.0;
  double v = 0.0;
  double v_max = 0.0;
  double size = 0.0;
  double m_size = 0.0;
};

/// The counts of one parameter.
struct PlainCounts {
  std::int64_t k = 0;  // steps taken
  std::int64_t t = 0;  // steps covered
  double momentum_product = 1.0;
};

/// What the schedule asks of a step.
struct PlainRefresh {
  bool due = false;
  bool use_gradient = false;
  std::int64_t covers = 0;
};

/// The refreshes 1, 2, 4, ... below `every`, then its multiples, one after the other; each covers the steps up to the
/// next.
inline PlainRefresh plain_doubling_refresh(std::int64_t every, std::int64_t step) {
  std::int64_t at = 1;
  while (at <= step) {
    const std::int64_t next = at < every ? std::min(2 * at, every) : at + every;
    if (at == step) return {true, false, next - at};
    at = next;
  }
  return {};
}

/// As recipe.h says it, by counting the refreshes from the first step on.
inline PlainRefresh plain_refresh(const Recipe& recipe, std::int64_t step) {
  const Schedule& schedule = recipe.schedule;
  PlainRefresh refresh;
  std::int64_t before = 0;
  for (std::int64_t k = 1; k <= step; ++k) {
    const bool dense = k <= schedule.dense;
    const bool due = dense || (k - schedule.dense - 1) % schedule.every == 0;
    if (k == step && due) refresh = {true, schedule.alternate && before % 2 == 1, dense ? 1 : schedule.every};
    before += due ? 1 : 0;
  }
  if (schedule.doubling) refresh = plain_doubling_refresh(schedule.every, step);
  if (recipe.probe == Probe::gradient) refresh.use_gradient = true;
  if (recipe.mix != Mix::none && !refresh.due) refresh = {true, true, 1};
  return refresh;
}

/// What a step feeds: f = s^2, g^2 or a mix, or nothing.
inline std::optional<double> plain_feed(const Recipe& recipe, const PlainRefresh& refresh, double g, double s) {
  if (recipe.rule == Rule::sgd || recipe.rule == Rule::lion || !refresh.due) return std::nullopt;
  if (refresh.use_gradient) return g * g;
  if (recipe.mix == Mix::sum) return s * s + g * g;
  if (recipe.mix == Mix::max) return std::max(s * s, g * g);
  return s * s;
}

/// 0 where there is no scale to divide by.
inline double plain_quotient(double a, double b) { return b == 0.0 ? 0.0 : a / b; }

/// One step of one row (B = 1); `counts` have counted it.
inline void plain_step(const Recipe& recipe, const GroupOptions& o, const PlainRefresh& refresh,
                       const PlainCounts& counts, double g, double s, PlainWeight& x) {
  const auto k = static_cast<double>(counts.k);
  const auto t = static_cast<double>(counts.t);
  const auto n = static_cast<double>(refresh.covers);
  const double b2n = std::pow(o.beta2, n);
  if (const auto f = plain_feed(recipe, refresh, g, s)) {
    switch (recipe.accumulator) {
      case Accumulator::running_sum: {
        double gain = 0.0;  // 1 + b2 + ... + b2^(n-1)
        for (std::int64_t i = 0; i < refresh.covers; ++i) gain += std::pow(o.beta2, static_cast<double>(i));
        x.v = b2n * x.v + gain * *f;
        break;
      }
      case Accumulator::ema:
      case Accumulator::ema_max:
        x.v = b2n * x.v + (1.0 - b2n) * *f;
        break;
      case Accumulator::ema_per_refresh:
        x.v = o.beta2 * x.v + (1.0 - o.beta2) * *f;
        break;
      case Accumulator::plain_sum:
        x.v = x.v + n * *f;
        break;
    }
  }
  x.v_max = std::max(x.v_max, x.v);
  const double kept = recipe.accumulator == Accumulator::ema_max ? x.v_max : x.v;
  const double remembered = 1.0 - std::pow(o.beta2, t);
  double correction = 1.0;  // hat(v) = correction v
  if (recipe.accumulator == Accumulator::running_sum) correction = (1.0 - o.beta2) / remembered;
  if (recipe.accumulator == Accumulator::ema || recipe.accumulator == Accumulator::ema_max)
    correction = 1.0 / remembered;

  const auto remember = [&](double decay, double gain, double in) {
    x.m = decay * x.m + gain * in;
    x.m_size = decay * x.m_size + gain * std::abs(in);
  };
  double step = 0.0;
  double step_size = 0.0;
  const double root = std::sqrt(correction * kept) + o.eps;
  switch (recipe.rule) {
    case Rule::adam:
      remember(o.beta1, 1.0 - o.beta1, g);
      step = plain_quotient(x.m / (1.0 - std::pow(o.beta1, k)), root);
      step_size = plain_quotient(x.m_size / (1.0 - std::pow(o.beta1, k)), root);
      break;
    case Rule::adam_simplified: {
      remember(o.beta1, 1.0, g);
      const double divisor = std::sqrt(correction * (kept + o.eps));
      step = plain_quotient((1.0 - o.beta1) * x.m, divisor);
      step_size = plain_quotient((1.0 - o.beta1) * x.m_size, divisor);
      break;
    }
    case Rule::nadam: {
      const auto mu = [&](double at) { return o.beta1 * (1.0 - 0.5 * std::pow(0.96, at * o.momentum_decay)); };
      remember(o.beta1, 1.0 - o.beta1, g);
      const double product = counts.momentum_product;
      const double of_m = mu(k + 1) / (1.0 - product * mu(k + 1));
      const double of_g = (1.0 - mu(k)) / (1.0 - product);
      step = plain_quotient(of_m * x.m + of_g * g, root);
      step_size = plain_quotient(of_m * x.m_size + of_g * std::abs(g), root);
      break;
    }
    case Rule::radam: {
      remember(o.beta1, 1.0 - o.beta1, g);
      const double unbiased = x.m / (1.0 - std::pow(o.beta1, k));
      const double unbiased_size = x.m_size / (1.0 - std::pow(o.beta1, k));
      const double limit = 2.0 / (1.0 - o.beta2) - 1.0;
      const double length = limit - 2.0 * t * std::pow(o.beta2, t) / remembered;
      if (length <= 5.0) {
        step = unbiased;
        step_size = unbiased_size;
        break;
      }
      const double rectified =
          std::sqrt((length - 4.0) / (limit - 4.0) * (length - 2.0) / (limit - 2.0) * limit / length);
      // torch divides by sqrt(v) + eps before it corrects the bias.
      const double divisor = (std::sqrt(kept) + o.eps) * std::sqrt(correction);
      step = rectified * plain_quotient(unbiased, divisor);
      step_size = rectified * plain_quotient(unbiased_size, divisor);
      break;
    }
    case Rule::sophia: {
      remember(o.beta1, 1.0 - o.beta1, g);
      const double divisor = o.rho * correction * kept + o.eps;  // B = 1 here
      step = x.m == 0.0 ? 0.0 : std::clamp(x.m / divisor, -1.0, 1.0);
      // Far beyond the clip the rounding of m does not show; elsewhere all of it does.
      step_size =
          std::abs(x.m) > 2.0 * divisor && std::abs(x.m) > 1e-3 * x.m_size ? 1.0 : plain_quotient(x.m_size, divisor);
      break;
    }
    case Rule::sgd:
      if (o.momentum > 0.0) {
        remember(o.momentum, counts.k == 1 ? 1.0 : 1.0 - o.dampening, g);
        step = o.nesterov ? g + o.momentum * x.m : x.m;
        step_size = o.nesterov ? std::abs(g) + o.momentum * x.m_size : x.m_size;
      } else {
        step = g;
        step_size = std::abs(g);
      }
      break;
    case Rule::rmsprop: {
      const double quotient = plain_quotient(g, std::sqrt(kept) + o.eps);
      if (o.momentum > 0.0) {
        remember(o.momentum, 1.0, quotient);
        step = x.m;
        step_size = x.m_size;
      } else {
        step = quotient;
        step_size = std::abs(quotient);
      }
      break;
    }
    case Rule::lion: {
      const double direction = o.beta1 * x.m + (1.0 - o.beta1) * g;
      const double direction_size = o.beta1 * x.m_size + (1.0 - o.beta1) * std::abs(g);
      step = static_cast<double>(direction > 0.0) - static_cast<double>(direction < 0.0);
      // Where the two cancel, rounding decides the sign, and nothing can be expected of the weight.
      const bool cancelled = direction_size > 0.0 && std::abs(direction) <= 1e-5 * direction_size;
      step_size = cancelled ? 1e12 : std::abs(step);
      remember(o.beta2, 1.0 - o.beta2, g);
      break;
    }
  }
  x.w -= o.lr * o.weight_decay * x.w;
  x.w -= o.lr * step;
  x.size = (1.0 + o.lr * o.weight_decay) * x.size + o.lr * step_size;
}

}  // namespace lehi::testing
