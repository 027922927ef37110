// From g and s to new weights: the non-finite policy, clipping, the update, diagnostics.
#include <cmath>
#include <limits>
#include <optional>

#include "lehi/error.h"
#include "lehi/optimizer.h"
#include "lehi/torch_compat.h"
#include "ops/norms.h"
#include "ops/update.h"
#include "optim/coefficients.h"
#include "runtime/message.h"

namespace lehi {

using torch::Tensor;

namespace {

// How many entries are below a limit, in pieces: a mask of all would be memory that a large model does not have.
double entries_below(const Tensor& values, double limit) {
  constexpr std::int64_t piece = std::int64_t{1} << 22;
  if (!values.is_contiguous()) return (values < limit).sum().item<double>();
  const Tensor flat = values.view({-1});
  double count = 0.0;
  for (std::int64_t first = 0; first < flat.size(0); first += piece) {
    const Tensor part = flat.narrow(0, first, std::min(piece, flat.size(0) - first));
    count += (part < limit).sum().item<double>();
  }
  return count;
}

// What a parameter's state can keep the square of, and the sum of a million such squares. Beyond, v would be infinite
// and stay so, and the weight would never move again.
double largest_to_square(const Tensor& parameter) {
  const bool wide = parameter.scalar_type() == torch::kFloat64;
  return 0x1p-10 * std::sqrt(wide ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max());
}

}  // namespace

void Optimizer::measure(const Pulled& pulled, std::size_t index, const Refresh& refresh, Measured& measured) const {
  const kernels::Norms g = ops::norms(pulled.g[index]);
  const std::size_t group = members_.groups[index];
  const Tensor& parameter = members_.parameters[index];
  const auto own_name = [&] { return parameter_name(group, members_.places[index]); };
  measured.squares += g.sum_of_squares;
  measured.largest[group] = std::max(measured.largest[group], g.largest);
  if (!g.finite && measured.trouble.empty()) {
    measured.trouble = fmt::format("the gradient of {} is not finite", own_name());
  }
  const kernels::Feed feed = feed_of(options_.recipe, refresh);
  const double limit = largest_to_square(parameter);
  if (feed != kernels::Feed::nothing && feed != kernels::Feed::probe) {
    const double excess = g.largest * pulled.g_factor / limit;
    if (excess > std::max(1.0, measured.excess)) {
      measured.excess = excess;
      measured.excessive = own_name();
    }
  }
  if (pulled.s.empty() || !pulled.s[index].defined() || ops::is_within(pulled.s[index], limit / pulled.s_factor)) {
    return;
  }
  if (measured.trouble.empty()) {
    measured.trouble = ops::is_finite(pulled.s[index])
                           ? fmt::format("the probe of {} is too large for its square to be kept", own_name())
                           : fmt::format("the probe of {} is not finite", own_name());
  }
}

// The 2-norm of g where the sum of the squares is beyond float64: of g over its largest entry.
double Optimizer::norm_by_parts(const Pulled& pulled, double largest) const {
  double squares = 0.0;
  for (const Tensor& g : pulled.g) {
    if (g.defined()) squares += ops::norms(g / largest).sum_of_squares;
  }
  return largest * pulled.g_factor * std::sqrt(squares);
}

// Fills the report's norms and the clipping that they ask for. False when g or s is not finite (and then throws, under
// that policy).
bool Optimizer::report_norms(const Pulled& pulled, const Measured& measured) {
  double largest = 0.0;
  for (std::size_t group = 0; group < measured.largest.size(); ++group) {
    if (options_.diagnostics) report_.groups[group].gradient_inf_norm = measured.largest[group] * pulled.g_factor;
    largest = std::max(largest, measured.largest[group]);
  }
  const bool overflow = measured.trouble.empty() && std::isinf(measured.squares);
  report_.gradient_norm = overflow ? norm_by_parts(pulled, largest) : std::sqrt(measured.squares) * pulled.g_factor;
  report_.gradient_inf_norm = largest * pulled.g_factor;
  std::string trouble = measured.trouble;
  if (trouble.empty() && pulled.value_known && !std::isfinite(pulled.value)) trouble = "the loss is not finite";
  if (!trouble.empty()) report_.gradient_norm = report_.gradient_inf_norm = std::numeric_limits<double>::quiet_NaN();
  if (options_.clip_norm && std::isfinite(report_.gradient_norm)) {
    report_.clip_factor = std::min(1.0, *options_.clip_norm / report_.gradient_norm);
  }
  if (trouble.empty() && measured.excess * report_.clip_factor > 1.0) {
    trouble = fmt::format("the gradient of {} is too large for its square to be kept", measured.excessive);
  }
  report_.non_finite = !trouble.empty();
  if (report_.non_finite && options_.non_finite == NonFinite::throw_error) {
    discard_accumulated();
    throw NonFiniteError(
        fmt::format("step {}: {}, so no weight was changed: lower the learning rate, set clip_norm, or choose the "
                    "policy skip or record",
                    step_ + 1, trouble));
  }
  return !report_.non_finite;
}

double Optimizer::skip_step(double value) {
  discard_accumulated();
  report_ = {};
  report_.step = step_ + 1;
  report_.value = value;
  report_.non_finite = true;
  report_.skipped = true;
  report_.gradient_norm = report_.gradient_inf_norm = std::numeric_limits<double>::quiet_NaN();
  return value;
}

void Optimizer::begin_report(const Pulled& pulled, const Refresh& refresh, bool second) {
  report_ = {};
  report_.step = step_ + 1;
  report_.value = pulled.value;
  report_.count = pulled.count;
  report_.refreshed = refresh.due && keeps_curvature(options_.recipe);
  report_.second_pull_back = second;
  if (options_.diagnostics) report_.groups.resize(param_groups_.size());
}

double Optimizer::apply(const Pulled& pulled, const Refresh& refresh) {
  check_parameters();
  begin_report(pulled, refresh, /*second=*/!pulled.s.empty());
  Measured measured{.largest = std::vector<double>(param_groups_.size())};
  for (std::size_t i = 0; i < pulled.g.size(); ++i) {
    if (pulled.g[i].defined()) measure(pulled, i, refresh, measured);
  }
  if (!report_norms(pulled, measured) && options_.non_finite == NonFinite::skip) return skip_step(pulled.value);

  const torch::NoGradGuard no_grad;
  Tensors before;
  if (options_.diagnostics) {
    for (const Tensor& parameter : all_parameters()) before.push_back(parameter.detach().clone());
  }
  for (std::size_t i = 0; i < pulled.g.size(); ++i) {
    if (pulled.g[i].defined()) update_parameter(pulled, i, refresh);
  }
  share_weights();
  finish_step(pulled);
  if (options_.diagnostics) diagnose(before);
  return pulled.value;
}

double Optimizer::finish_step(const Pulled& pulled) {
  if (known_parameters_ != pulled.g.size()) schedule_start_ = step_;
  known_parameters_ = pulled.g.size();
  ++step_;
  discard_accumulated();
  return pulled.value;
}

// Zeros as the parameter's moments start: in its memory order, at least float32.
Tensor Optimizer::zero_state(const Tensor& parameter, std::size_t index) const {
  const auto dtype = torch::promote_types(parameter.scalar_type(), torch::kFloat32);
  if (divided())
    return torch::zeros({own_weights(parameter, index)}, parameter.options().dtype(dtype).requires_grad(false));
  return torch::zeros_like(parameter, parameter.options().dtype(dtype).requires_grad(false),
                           torch::MemoryFormat::Preserve);
}

ParameterState& Optimizer::state_of(std::size_t index, const GroupOptions& group) {
  auto& slot = state_[members_.keys[index]];
  if (!slot) slot = std::make_unique<ParameterState>();
  auto& state = static_cast<ParameterState&>(*slot);
  const Tensor& parameter = members_.parameters[index];
  if (!state.m.defined() && keeps_first_moment(options_.recipe, group)) state.m = zero_state(parameter, index);
  if (!state.v.defined() && keeps_curvature(options_.recipe)) {
    state.v = zero_state(parameter, index);
    if (options_.recipe.accumulator == Accumulator::ema_max) state.v_max = zero_state(parameter, index);
  }
  return state;
}

void Optimizer::update_parameter(const Pulled& pulled, std::size_t index, const Refresh& refresh) {
  const GroupOptions& group = group_options(members_.groups[index]);
  ParameterState& state = state_of(index, group);
  // Before its first refresh a parameter has no scale to be divided by: it waits.
  if (keeps_curvature(options_.recipe) && state.covered == 0 && !refresh.due) return;
  ++state.step;
  if (refresh.due) state.covered += refresh.covers;
  if (options_.recipe.rule == Rule::nadam) state.momentum_product *= nadam_momentum(group, state.step);

  const kernels::UpdateCoefficients scalars = coefficients({.recipe = options_.recipe,
                                                            .group = group,
                                                            .state = state,
                                                            .refresh = refresh,
                                                            .count = pulled.count,
                                                            .g_factor = pulled.g_factor * report_.clip_factor,
                                                            .s_factor = pulled.s_factor});
  const Tensor& parameter = members_.parameters[index];
  if (divided() && own_weights(parameter, index) == 0) return;
  ops::UpdateTensors tensors{
      own_part(parameter, index), own_part(pulled.g[index], index), {}, state.m, state.v, state.v_max};
  const bool feeds_probe = scalars.feed != kernels::Feed::nothing && scalars.feed != kernels::Feed::gradient;
  if (feeds_probe) {
    // A parameter that only the regulariser reaches has g but no curvature.
    tensors.s = pulled.s[index].defined() ? own_part(pulled.s[index], index) : torch::zeros_like(tensors.g);
  }
  ops::update(tensors, scalars);
}

// The kept curvature below which eps outweighs what stands beside it in the rule's denominator; nothing while no
// curvature is kept.
std::optional<double> Optimizer::eps_limit(const ParameterState* state, const GroupOptions& group) const {
  if (state == nullptr || state->covered == 0 || !state->v.defined()) return std::nullopt;
  const double correction = bias_correction(options_.recipe.accumulator, group.beta2, state->covered);
  switch (options_.recipe.rule) {
    case Rule::adam_simplified:
      return group.eps;
    case Rule::sophia:
      if (!(report_.count > 0.0)) return std::nullopt;
      return group.eps / (group.rho * report_.count * correction);
    default:
      return group.eps * group.eps / correction;
  }
}

// How many of a parameter's weights eps outweighs: all of them where there is no curvature to outweigh.
double Optimizer::dominated_weights(const Tensor& parameter, std::size_t index, const GroupOptions& group) const {
  const ParameterState* state = find_state(parameter);
  const auto limit = eps_limit(state, group);
  if (!limit) return static_cast<double>(own_weights(parameter, index));
  return entries_below(state->v_max.defined() ? state->v_max : state->v, *limit);
}

void Optimizer::diagnose(const Tensors& before) {
  std::size_t index = 0;
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    const GroupOptions& options = group_options(group);
    GroupDiagnostics& result = report_.groups[group];
    double weights = 0.0;
    double dominated = 0.0;
    double clipped = 0.0;
    double change = 0.0;
    double size = 0.0;
    for (const Tensor& parameter : param_groups_[group].params()) {
      const Tensor& old = before[index];
      change += ops::norms(parameter.detach() - old).sum_of_squares;
      size += ops::norms(old).sum_of_squares;
      weights += static_cast<double>(parameter.numel());
      dominated += dominated_weights(parameter, index++, options);
      if (const ParameterState* state = find_state(parameter);
          options_.recipe.rule == Rule::sophia && eps_limit(state, options)) {
        const Tensor scale = options.rho * report_.count * curvature(state, options);
        clipped += (state->m.abs() >= scale + options.eps).sum().item<double>();
      }
    }
    if (divided()) sum_over_ranks({&dominated, &clipped});
    result.eps_dominated = weights > 0.0 ? dominated / weights : 0.0;
    result.clip_rate = weights > 0.0 ? clipped / weights : 0.0;
    result.update_to_weight = size > 0.0 ? std::sqrt(change / size) : 0.0;
  }
}

double Optimizer::eps_dominated() const {
  const torch::NoGradGuard no_grad;
  double weights = 0.0;
  double dominated = 0.0;
  double any = 0.0;
  std::size_t index = 0;
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    const GroupOptions& options = group_options(group);
    for (const Tensor& parameter : param_groups_[group].params()) {
      if (eps_limit(find_state(parameter), options)) any = 1.0;
      weights += static_cast<double>(parameter.numel());
      dominated += dominated_weights(parameter, index++, options);
    }
  }
  if (divided()) sum_over_ranks({&dominated, &any});
  return any > 0.0 && weights > 0.0 ? dominated / weights : 0.0;
}

const ParameterState* Optimizer::find_state(const Tensor& parameter) const {
  const auto found = state_.find(compat::state_key(parameter));
  return found == state_.end() ? nullptr : static_cast<const ParameterState*>(found->second.get());
}

Tensor Optimizer::curvature(const ParameterState* state, const GroupOptions& group) const {
  if (state == nullptr || state->covered == 0) return {};
  const Tensor& kept = state->v_max.defined() ? state->v_max : state->v;
  if (!kept.defined()) return {};
  return kept * bias_correction(options_.recipe.accumulator, group.beta2, state->covered);
}

Tensor Optimizer::curvature(const Tensor& parameter) const {
  for (std::size_t group = 0; group < param_groups_.size(); ++group) {
    for (const Tensor& member : param_groups_[group].params()) {
      if (member.is_same(parameter)) return curvature(find_state(parameter), group_options(group));
    }
  }
  return {};
}

}  // namespace lehi
