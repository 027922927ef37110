// A recipe is what makes one optimizer differ from another: probe, schedule, accumulator, mix, rule and scale.
// Every named optimizer is a recipe plus default numbers (lehi/presets.h); a new idea is a new value of one part.
#pragma once

#include <cstdint>
#include <string_view>

#include "lehi/probe.h"

namespace lehi {

/// Which probe, if any, at step k = 1, 2, ...
///   every = 1              each step
///   alternate              refreshes 2, 4, 6, ... use the gradient itself instead of the probe (LEHIBRID)
///   every = n, dense = d   steps 1..d each refresh, then every n-th step, starting with d + 1 (amortised)
struct Schedule {
  std::int64_t every = 1;  ///< 1 to 2^40
  std::int64_t dense = 0;  ///< 0 to 2^40
  bool alternate = false;
};

/// What the schedule asks of one step.
struct Refresh {
  bool due = false;           ///< new s^2 goes into the accumulator
  bool use_gradient = false;  ///< s = g: no second pull-back
  std::int64_t covers = 0;    ///< steps until the next refresh, this one included
};

/// The schedule's answer for step k >= 1.
Refresh refresh_at(const Schedule& schedule, std::int64_t step);

/// How s^2 is kept. With n steps covered by this refresh and t covered in all, and hat(v) the bias-corrected value:
///   running_sum       v <- b2^n v + (1-b2^n)/(1-b2) s^2       hat(v) = v (1-b2)/(1-b2^t)     the paper's
///   ema               v <- b2^n v + (1-b2^n) s^2              hat(v) = v / (1-b2^t)
///   ema_max           as ema; the largest v so far is used                                    AMSGrad
///   ema_per_refresh   v <- b2 v + (1-b2) s^2, whatever n      hat(v) = v                      Sophia-G
///   plain_sum         v <- v + n s^2                          hat(v) = v                      Adagrad
enum class Accumulator : std::uint8_t { running_sum, ema, ema_max, ema_per_refresh, plain_sum };

/// What enters the accumulator: the probe alone, at refreshes; or the squared gradient at every step, with the probe at
/// refreshes, so that v has a brake when gradients grow between them.
///              at a refresh     at other steps
///   none       s^2              nothing
///   sum        s^2 + g^2        g^2, covering one step
///   max        max(s^2, g^2)    g^2, covering one step
enum class Mix : std::uint8_t { none, sum, max };

/// How m and the kept v become a step; lr is the group's rate, k the parameter's step count, hat(v) as above.
///   adam              m <- b1 m + (1-b1) g;  w -= lr m/(1-b1^k) / (sqrt(hat v) + eps)        Kingma and Ba 2015
///   adam_simplified   m <- b1 m + g;         w -= lr (1-b1) m / sqrt(hat(v + eps))           Defossez et al. 2022
///   nadam             adam with Nesterov momentum                                            Dozat 2016
///   radam             adam, rectified; plain momentum while the variance is unknown          Liu et al. 2020
///   sophia            m as adam;             w -= lr sign(m) min(|m| / (rho B v + eps), 1)   Liu et al. 2024
///   sgd               momentum, dampening, Nesterov as torch; v unused
///   rmsprop           w -= lr g / (sqrt(v) + eps), or a momentum buffer of that quotient; with plain_sum: Adagrad
/// hat(v + eps) of running_sum is (v + eps)(1-b2)/(1-b2^t): Algorithm 2 of the paper to the letter.
/// Decoupled decay w -= lr wd w happens before the step, in every rule.
enum class Rule : std::uint8_t { adam, adam_simplified, nadam, radam, sophia, sgd, rmsprop };

struct Recipe {
  Probe probe = Probe::gradient;
  Schedule schedule = {};
  Accumulator accumulator = Accumulator::ema;
  Mix mix = Mix::none;
  Rule rule = Rule::adam;
  Scale scale = Scale::sqrt_n;
};

std::string_view name(Accumulator accumulator);
std::string_view name(Mix mix);
std::string_view name(Rule rule);
Accumulator accumulator_from_name(std::string_view name);
Mix mix_from_name(std::string_view name);
Rule rule_from_name(std::string_view name);

}  // namespace lehi
