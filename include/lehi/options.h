// The numbers of an optimizer. GroupOptions belong to a parameter group (rate, betas, eps, decay); Options hold the
// defaults of every group and what belongs to the optimizer as a whole (recipe, clipping, policy, seed).
// Both are plain values; PresetOptions<P> adds the fluent form, lehi::LehiOptions(3e-3).eps(1e-2).
#pragma once

#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lehi/recipe.h"

namespace lehi {

/// One parameter group's numbers. Works with torch's learning-rate schedulers (get_lr, set_lr) and archives.
/// A rule reads those that its equations name (lehi/recipe.h) and ignores the rest.
class GroupOptions : public torch::optim::OptimizerCloneableOptions<GroupOptions> {
 public:
  double lr = 1e-3;              ///< [0, 1e18]
  double beta1 = 0.9;            ///< [0, 1): decay of m
  double beta2 = 0.999;          ///< [0, 1): decay of v; torch's alpha for rmsprop
  double eps = 1e-8;             ///< >= 0; > 0 for adam_simplified
  double weight_decay = 0.0;     ///< [0, 1e18], decoupled
  double momentum = 0.0;         ///< [0, 1]: sgd and rmsprop
  double dampening = 0.0;        ///< [0, 1]: sgd
  bool nesterov = false;         ///< sgd; needs momentum > 0 and dampening 0
  double momentum_decay = 4e-3;  ///< >= 0: nadam
  double rho = 0.05;             ///< (0, 1e18]: sophia's clipping constant

  GroupOptions() = default;
  explicit GroupOptions(double rate) : lr(rate) {}

  double get_lr() const override { return lr; }
  void set_lr(double rate) override { lr = rate; }
  void serialize(torch::serialize::InputArchive& archive) override;
  void serialize(torch::serialize::OutputArchive& archive) const override;
};

/// Throws std::invalid_argument naming the first number out of range, its value and the range.
void check(const GroupOptions& options, Rule rule);

/// What to do when a gradient or probe is NaN or infinite, or so large that the sum of its squares would be infinite in
/// the state's dtype, where it would hold the weight still for ever. Whichever it is, the step's report says so.
///   throw_error  throw NonFiniteError naming the parameter and the step; weights and state untouched
///   skip     leave weights and state untouched and go on
///   record   apply the step all the same; the report counts it (how the paper's stability table is made)
/// Non-finite predictions stop the step before a gradient exists: raise throws, skip and record leave the weights
/// alone.
enum class NonFinite : std::uint8_t { throw_error, skip, record };

std::string_view name(NonFinite policy);
NonFinite non_finite_from_name(std::string_view name);  ///< "throw", "skip" or "record"

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

struct Options {
  std::string name = "custom";  ///< the preset's name; appears in messages and saved files
  Recipe recipe = {};
  GroupOptions group = {};               ///< the defaults of every parameter group
  std::optional<double> clip_norm = {};  ///< largest global 2-norm of g; > 0
  NonFinite non_finite = NonFinite::throw_error;
  std::uint64_t seed = 0;    ///< of the random probes
  bool diagnostics = false;  ///< fill StepReport::groups at every step; costs a few passes over memory
  /// Updates each weight as soon as its g and s are complete, so that no full copy of either exists. For networks that
  /// differentiate themselves (lehi::Differentiable). Nothing can be undone then: needs NonFinite::record, and no
  /// clip_norm, diagnostics or accumulate().
  bool update_during_pull_back = false;
};

/// Throws std::invalid_argument naming the first number out of range, its value and the range.
void check(const Options& options);

/// The preset's recipe and default numbers (the paper's for lehi, lehibrid and sophia-g, torch's for the others).
Options preset(Preset preset);

/// By name: "lehi", "lehi-gn", "adamw", ...; throws std::invalid_argument listing the known names.
Options preset(std::string_view name);

std::string_view name(Preset preset);
const std::vector<Preset>& all_presets();

/// One sentence for `lehi list optimizers`.
std::string_view summary(Preset preset);

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
  PresetOptions& clip_norm(double value) { return set(options_.clip_norm, std::optional<double>(value)); }
  PresetOptions& non_finite(NonFinite value) { return set(options_.non_finite, value); }
  PresetOptions& seed(std::uint64_t value) { return set(options_.seed, value); }
  PresetOptions& diagnostics(bool value) { return set(options_.diagnostics, value); }
  PresetOptions& update_during_pull_back(bool value) { return set(options_.update_during_pull_back, value); }
  PresetOptions& probe(Probe value) { return set(options_.recipe.probe, value); }
  PresetOptions& scale(Scale value) { return set(options_.recipe.scale, value); }
  PresetOptions& mix(Mix value) { return set(options_.recipe.mix, value); }
  /// Refresh at every step up to `dense`, then at every n-th.
  PresetOptions& refresh_every(std::int64_t every, std::int64_t dense = 0) {
    options_.recipe.schedule.every = every;
    return set(options_.recipe.schedule.dense, dense);
  }

  operator Options() const { return options_; }  // NOLINT(google-explicit-constructor): an Options by another name
  const GroupOptions& group() const { return options_.group; }

 private:
  template <class T>
  PresetOptions& set(T& field, T value) {
    field = value;
    return *this;
  }

  Options options_ = preset(P);
};

}  // namespace lehi
