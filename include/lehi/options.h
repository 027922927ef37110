// The options of an optimizer. GroupOptions belong to a parameter group (rate, betas, eps, decay); Options hold the
// defaults of every group and what belongs to the optimizer as a whole (recipe, clipping, policy, seed).
// Both are plain values; PresetOptions<P> adds the fluent form, lehi::LehiOptions(3e-3).eps(1e-2).
#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lehi/recipe.h"

namespace lehi {

/// One parameter group's numbers. Works with torch's learning-rate schedulers (get_lr, set_lr) and archives.
class GroupOptions : public torch::optim::OptimizerCloneableOptions<GroupOptions>, public Hyperparameters {
 public:
  GroupOptions() = default;
  explicit GroupOptions(double rate) { lr = rate; }
  explicit GroupOptions(const Hyperparameters& numbers) : Hyperparameters(numbers) {}

  bool diagonal = false;  ///< this group's matrices are diagonal, whatever the recipe's shape

  double get_lr() const override { return lr; }
  void set_lr(double rate) override { lr = rate; }
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};

/// What to do when a gradient or probe is NaN or infinite, or so large that its square overflows the state's dtype (an
/// infinite v would stop the weight for ever). The step's report records it in every case.
///   throw_error  throw NonFiniteError naming the parameter and the step; weights and state untouched
///   skip     leave weights and state untouched and go on
///   record   apply the step all the same; the report counts it (how the paper's stability table is made)
/// Non-finite predictions stop the step before a gradient exists: raise throws, skip and record leave the weights
/// alone.
enum class NonFinite : std::uint8_t { throw_error, skip, record };

std::string_view name(NonFinite policy);
NonFinite non_finite_from_name(std::string_view name);  ///< "throw", "skip" or "record"

/// How weights of 16 bits take a step, which is computed in float32. Their state is float32.
///   stochastic  up or down at random, right in the mean; the same seed gives the same bits
///   nearest     to the nearest number: a step below half a unit in the last place is lost
enum class Rounding : std::uint8_t { stochastic, nearest };

/// Which matrices take the recipe's shape; all others are diagonal, as are groups with GroupOptions::diagonal. The
/// defaults leave out what is a table of rows rather than a map: embeddings, positions, and the last layer where it is
/// named as usual; add its name where it is not ("fc.weight").
struct ShapeRules {
  /// A matrix is diagonal if one of these is its name, or a word of its name; '.' and '_' separate words. Without
  /// names, groups decide.
  std::vector<std::string> diagonal_names = {"embed", "embedding", "embeddings", "wte", "wpe", "head", "classifier"};
  /// Sides that are longer get no factor; matrices with a longer side are not made orthogonal. At least 2.
  std::int64_t largest_side = 8192;
};

struct Options {
  std::string name = "custom";  ///< the preset's name; appears in messages and saved files
  Recipe recipe = {};
  GroupOptions group = {};               ///< the defaults of every parameter group
  ShapeRules shapes = {};                ///< for the kronecker and orthogonal shapes
  std::optional<double> clip_norm = {};  ///< largest global 2-norm of g; > 0
  NonFinite non_finite = NonFinite::throw_error;
  std::uint64_t seed = 0;                    ///< of the random probes and of stochastic rounding
  Rounding rounding = Rounding::stochastic;  ///< of bfloat16 and float16 weights
  bool diagnostics = false;                  ///< fill StepReport::groups at every step; costs a few passes over memory
  /// Updates each weight as soon as its g and s are complete, so that no full copy of either exists. For networks that
  /// differentiate themselves (lehi::Differentiable). Nothing can be undone then: needs NonFinite::record, and no
  /// clip_norm, diagnostics or accumulate().
  bool update_during_pull_back = false;
};

/// Throws std::invalid_argument naming the first number out of range, its value and the range.
void check(const Options& options);

/// A preset's recipe and default numbers, by value or by name ("lehi", "lehi-gn", "adamw", ...; an unknown name throws
/// std::invalid_argument with the list of known ones).
Options preset(Preset preset);
Options preset(std::string_view name);

/// A preset's options with fluent setters; converts to Options.
template <Preset P>
class PresetOptions {
 public:
  PresetOptions() = default;
  explicit PresetOptions(double rate) { options_.group.lr = rate; }

  PresetOptions& lr(double value) { return set(options_.group.lr, value); }
  PresetOptions& betas(double first, double second) {
    options_.group.beta1 = first;
    return set(options_.group.beta2, second);
  }
  PresetOptions& eps(double value) { return set(options_.group.eps, value); }
  PresetOptions& weight_decay(double value) { return set(options_.group.weight_decay, value); }
  PresetOptions& momentum(double value) { return set(options_.group.momentum, value); }
  PresetOptions& dampening(double value) { return set(options_.group.dampening, value); }
  PresetOptions& nesterov(bool value) { return set(options_.group.nesterov, value); }
  PresetOptions& momentum_decay(double value) { return set(options_.group.momentum_decay, value); }
  PresetOptions& rho(double value) { return set(options_.group.rho, value); }
  PresetOptions& beta3(double value) { return set(options_.group.beta3, value); }
  PresetOptions& clip_norm(double value) { return set(options_.clip_norm, std::optional<double>(value)); }
  PresetOptions& non_finite(NonFinite value) { return set(options_.non_finite, value); }
  PresetOptions& seed(std::uint64_t value) { return set(options_.seed, value); }
  PresetOptions& rounding(Rounding value) { return set(options_.rounding, value); }
  PresetOptions& diagnostics(bool value) { return set(options_.diagnostics, value); }
  PresetOptions& update_during_pull_back(bool value) { return set(options_.update_during_pull_back, value); }
  PresetOptions& probe(Probe value) { return set(options_.recipe.probe, value); }
  PresetOptions& scale(Scale value) { return set(options_.recipe.scale, value); }
  PresetOptions& accumulator(Accumulator value) { return set(options_.recipe.accumulator, value); }
  PresetOptions& mix(Mix value) { return set(options_.recipe.mix, value); }
  PresetOptions& rule(Rule value) { return set(options_.recipe.rule, value); }
  PresetOptions& decay(Decay value) { return set(options_.recipe.decay, value); }
  PresetOptions& alternate(bool value) { return set(options_.recipe.schedule.alternate, value); }
  PresetOptions& doubling(bool value) { return set(options_.recipe.schedule.doubling, value); }
  PresetOptions& shape(Shape value) { return set(options_.recipe.shape, value); }
  PresetOptions& factors(FactorSource value) { return set(options_.recipe.kronecker.factors, value); }
  PresetOptions& sides(Sides value) { return set(options_.recipe.kronecker.sides, value); }
  PresetOptions& cost(double value) { return set(options_.recipe.kronecker.cost, value); }
  PresetOptions& square_blocks(bool value) { return set(options_.recipe.kronecker.square_blocks, value); }
  PresetOptions& basis_every(std::int64_t value) { return set(options_.recipe.kronecker.basis_every, value); }
  PresetOptions& step_factor(double value) { return set(options_.recipe.kronecker.step_factor, value); }
  PresetOptions& shapes(ShapeRules value) { return set(options_.shapes, std::move(value)); }
  /// The spacing of the refreshes alone: how they start (dense, doubling) stays as it is.
  PresetOptions& refresh_every(std::int64_t value) { return set(options_.recipe.schedule.every, value); }
  /// Refresh at every step up to `dense`, then at every n-th. Not with doubling.
  PresetOptions& refresh_every(std::int64_t every, std::int64_t dense) {
    return refresh_every(every).set(options_.recipe.schedule.dense, dense);
  }

  operator Options() const { return options_; }  // NOLINT(google-explicit-constructor): an Options by another name
  const GroupOptions& group() const { return options_.group; }

 private:
  template <class T>
  PresetOptions& set(T& field, T value) {
    field = std::move(value);
    return *this;
  }

  Options options_ = preset(P);
};

}  // namespace lehi
