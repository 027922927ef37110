// What makes one optimizer differ from another, without LibTorch: the recipe (probe, schedule, accumulator, mix, rule,
// decay, scale) and the numbers of its equations. A named optimizer is a recipe with default numbers; a new idea is a
// new value of one part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
enum class Rule : std::uint8_t { adam, adam_simplified, nadam, radam, sophia, sgd, rmsprop };

/// Where weight decay wd enters.
///   decoupled   w -= lr wd w before the step      AdamW, and all curvature-aware presets
///   coupled     g <- g + wd w, after clipping     torch's Adam, SGD and their relatives
enum class Decay : std::uint8_t { decoupled, coupled };

struct Recipe {
  Probe probe = Probe::gradient;
  Schedule schedule = {};
  Accumulator accumulator = Accumulator::ema;
  Mix mix = Mix::none;
  Rule rule = Rule::adam;
  Decay decay = Decay::decoupled;
  Scale scale = Scale::sqrt_n;
};

/// The numbers of the equations above. A rule reads those that it names and ignores the rest.
struct Hyperparameters {
  double lr = 1e-3;              ///< [0, 1e18]
  double beta1 = 0.9;            ///< [0, 1): decay of m
  double beta2 = 0.999;          ///< [0, 1): decay of v; torch's alpha for rmsprop
  double eps = 1e-8;             ///< >= 0; > 0 for adam_simplified
  double weight_decay = 0.0;     ///< [0, 1e18]
  double momentum = 0.0;         ///< [0, 1]: sgd and rmsprop
  double dampening = 0.0;        ///< [0, 1]: sgd
  bool nesterov = false;         ///< sgd; needs momentum > 0 and dampening 0
  double momentum_decay = 4e-3;  ///< >= 0: nadam
  double rho = 0.05;             ///< (0, 1e18]: sophia's clipping constant
};

/// Throws std::invalid_argument naming the first number out of range, its value and the range.
void check(const Hyperparameters& numbers, Rule rule);
void check(const Recipe& recipe);

/// How far one parameter has come.
struct StepCounts {
  std::int64_t step = 0;           ///< k: steps that it has taken
  std::int64_t steps_covered = 0;  ///< t: steps that its refreshes cover; 0: no v yet
  double momentum_product = 1.0;   ///< nadam
};

/// The optimizers that have a name.
enum class Preset : std::uint8_t {
  lehi,
  lehibrid,
  lehi_gn,
  adam_simplified,
  adam,
  adamw,
  amsgrad,
  nadam,
  radam,
  adagrad,
  rmsprop,
  sgd,
  sophia_g,
};

/// A preset's recipe and default numbers (the paper's for lehi, lehibrid and sophia-g, torch's for the others).
Recipe recipe_of(Preset preset);
Hyperparameters hyperparameters_of(Preset preset);

std::string_view name(Preset preset);
Preset preset_from_name(std::string_view name);
const std::vector<Preset>& all_presets();

/// One sentence for `lehi list optimizers`.
std::string_view summary(Preset preset);

std::string_view name(Accumulator accumulator);
std::string_view name(Mix mix);
std::string_view name(Rule rule);
std::string_view name(Decay decay);
Accumulator accumulator_from_name(std::string_view name);
Mix mix_from_name(std::string_view name);
Rule rule_from_name(std::string_view name);
Decay decay_from_name(std::string_view name);

/// "probe=imitation every=1 dense=0 alternate=no accumulator=running-sum mix=none rule=adam-simplified ...": how saved
/// states record the recipe.
std::string to_string(const Recipe& recipe);

/// What differs between a saved recipe and this one: "accumulator=ema there, accumulator=running-sum here"; "" where
/// nothing does. A part that the saved string lacks takes its default.
std::string difference(std::string_view saved, const Recipe& recipe);

}  // namespace lehi
