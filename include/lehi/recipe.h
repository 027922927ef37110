// What makes one optimizer differ from another, without LibTorch: the recipe (probe, schedule, accumulator, mix, rule,
// decay, scale, shape) and the numbers of its equations. A named optimizer is a recipe with default numbers; a new idea
// is a new value of one part.
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
///   every = n, doubling    steps 1, 2, 4, 8, ... up to n, then n, 2n, 3n, ...
struct Schedule {
  std::int64_t every = 1;  ///< 1 to 2^40
  std::int64_t dense = 0;  ///< 0 to 2^40; 0 with doubling
  bool alternate = false;
  bool doubling = false;
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
///   gradient   g^2              g^2, covering one step: the probe makes the factors of the kronecker shape only
/// With the kronecker shape a refresh of `sum` and `max` covers one step, too.
enum class Mix : std::uint8_t { none, sum, max, gradient };

/// How m and the kept v become a step; lr is the group's rate, k the parameter's step count, hat(v) as above.
///   adam              m <- b1 m + (1-b1) g;  w -= lr m/(1-b1^k) / (sqrt(hat v) + eps)        Kingma and Ba 2015
///   adam_simplified   m <- b1 m + g;         w -= lr (1-b1) m / sqrt(hat(v + eps))           Defossez et al. 2022
///   nadam             adam with Nesterov momentum                                            Dozat 2016
///   radam             adam, rectified; plain momentum while the variance is unknown          Liu et al. 2020
///   sophia            m as adam;             w -= lr sign(m) min(|m| / (rho B v + eps), 1)   Liu et al. 2024
///   sgd               momentum, dampening, Nesterov as torch; v unused
///   rmsprop           w -= lr g / (sqrt(v) + eps), or a momentum buffer of that quotient; with plain_sum: Adagrad
///   lion              w -= lr sign(b1 m + (1-b1) g);  m <- b2 m + (1-b2) g; v unused         Chen et al. 2023
/// hat(v + eps) of running_sum is (v + eps)(1-b2)/(1-b2^t): Algorithm 2 of the paper to the letter.
enum class Rule : std::uint8_t { adam, adam_simplified, nadam, radam, sophia, sgd, rmsprop, lion };

/// Where weight decay wd enters.
///   decoupled   w -= lr wd w before the step      AdamW, and all curvature-aware presets
///   coupled     g <- g + wd w, after clipping     torch's Adam, SGD and their relatives
enum class Decay : std::uint8_t { decoupled, coupled };

/// How weights are taken together. Matrices are the parameters with two or more dimensions, as out x (all others); the
/// rest, and matrices that ShapeRules (lehi/options.h) leaves out, are always `diagonal`.
///   diagonal     each weight by itself
///   kronecker    m and v are kept, and the rule is applied, in the eigenbases of L and R:
///                  at a refresh  L <- b3 L + (1-b3) S S^T,  R <- b3 R + (1-b3) S^T S;  Q_L, Q_R their eigenvectors
///                  every step    G' = Q_L^T G Q_R;  the rule with G' (and S' = Q_L^T S Q_R);  W -= Q_L step' Q_R^T
///                With the gauss-newton probe E[S S^T] and E[S^T S] are the partial traces of the matrix's exact
///                Gauss-Newton block; with S = G this is SOAP (Vyas et al. 2025), and with a rule that divides by
///                sqrt(v') it follows Shampoo.
///   orthogonal   M <- b M + (1-b) G with b = `momentum`;  W -= 0.2 lr sqrt(max(m, n)) orthogonal(M): Muon (Jordan et
///                al. 2024), scaled so that the step's root mean square is that of AdamW (Liu et al. 2025)
enum class Shape : std::uint8_t { diagonal, kronecker, orthogonal };

/// Which S makes the factors L and R.
///   probe      the pulled-back probe, at its refreshes; turned into use at once
///   gradient   g, at every step; in use from the next step on, because bases that contain the gradient which they turn
///              are biased
///   both       the probe at its refreshes, and g at every step, each in use as above
///   random     at refreshes, a matrix of normal numbers with the probe's Frobenius norm: a control
enum class FactorSource : std::uint8_t { probe, gradient, both, random };

/// Which sides of a matrix get a factor. With T predictions per step (16 times as many for convolutions, which see
/// several positions of each), turning both sides costs 2/3 (m+n)/T of the forward and backward pass; with g in the
/// factors at every step (m+n)/T.
///   automatic   both where (m+n)/T is at most `cost`; else the smaller one where it is at most `cost` T; else none. T
///               is not known where gradients come from .grad(), and counts as infinite there: both
///   smaller     the smaller one
///   both        both
enum class Sides : std::uint8_t { automatic, smaller, both };

/// The parts of the kronecker shape.
struct Kronecker {
  FactorSource factors = FactorSource::probe;
  Sides sides = Sides::automatic;
  double cost = 0.5;  ///< > 0, for Sides::automatic
  /// Cuts a matrix's longer side into the fewest equal blocks that are no longer than the other side, each with a
  /// factor and a basis of its own; sides without such blocks of at least half that length and 16 stay whole. Costs
  /// count a block's length instead of the side's.
  bool square_blocks = false;
  /// gradient and both: new bases from g after every so many steps, doubling at first where the schedule does; 1 to
  /// 2^40
  std::int64_t basis_every = 1;
  double step_factor = 1.0;  ///< of the matrices' steps, for one rate for them and all others; above 0, up to 1e18
};

struct Recipe {
  Probe probe = Probe::gradient;
  Schedule schedule = {};
  Accumulator accumulator = Accumulator::ema;
  Mix mix = Mix::none;
  Rule rule = Rule::adam;
  Decay decay = Decay::decoupled;
  Scale scale = Scale::sqrt_n;
  Shape shape = Shape::diagonal;
  Kronecker kronecker = {};
};

/// The numbers of the equations above. A rule reads those that it names and ignores the rest.
struct Hyperparameters {
  double lr = 1e-3;              ///< [0, 1e18]
  double beta1 = 0.9;            ///< [0, 1): decay of m
  double beta2 = 0.999;          ///< [0, 1): decay of v; torch's alpha for rmsprop
  double eps = 1e-8;             ///< >= 0; > 0 for adam_simplified
  double weight_decay = 0.0;     ///< [0, 1e18]
  double momentum = 0.0;         ///< [0, 1]: sgd, rmsprop, orthogonal matrices
  double dampening = 0.0;        ///< [0, 1]: sgd
  bool nesterov = false;         ///< sgd, orthogonal matrices; needs momentum > 0 and dampening 0
  double momentum_decay = 4e-3;  ///< >= 0: nadam
  double rho = 0.05;             ///< (0, 1e18]: sophia's clipping constant
  double beta3 = 0.95;           ///< [0, 1): decay of the kronecker shape's factors, per update of them
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
  lion,
  muon,
  soap,
  lehi_kron,
};

/// A preset's recipe and default numbers: the LEHI paper's for lehi, lehibrid and sophia-g; their authors' for lion,
/// muon and soap; ours for lehi-gn and lehi-kron; torch's for the others.
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
std::string_view name(Shape shape);
std::string_view name(FactorSource source);
std::string_view name(Sides sides);
Accumulator accumulator_from_name(std::string_view name);
Mix mix_from_name(std::string_view name);
Rule rule_from_name(std::string_view name);
Decay decay_from_name(std::string_view name);
Shape shape_from_name(std::string_view name);
FactorSource factors_from_name(std::string_view name);
Sides sides_from_name(std::string_view name);

/// "probe=imitation every=1 dense=0 alternate=no accumulator=running-sum mix=none rule=adam-simplified ...": how saved
/// states record the recipe.
std::string to_string(const Recipe& recipe);

/// What differs between a saved recipe and this one: "accumulator=ema there, accumulator=running-sum here"; "" where
/// nothing does. A part that the saved string lacks takes its default.
std::string difference(std::string_view saved, const Recipe& recipe);

}  // namespace lehi
