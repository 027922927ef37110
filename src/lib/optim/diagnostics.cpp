#include "optim/diagnostics.h"

#include <algorithm>
#include <cmath>

#include "ops/norms.h"
#include "optim/updater.h"
#include "plan/coefficients.h"

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

// The v below which eps outweighs it; nothing before the first refresh.
std::optional<double> limit_of(const OptimizerParts& parts, const ParameterState* state, const GroupOptions& group) {
  if (state == nullptr || !state->v.defined()) return std::nullopt;
  return eps_limit(parts.options.recipe, group, *state, parts.report.count);
}

// How many of a parameter's weights eps outweighs: all of them where there is no curvature.
double dominated_weights(const OptimizerParts& parts, const Tensor& parameter, std::size_t index,
                         const ParameterState* state, const GroupOptions& group) {
  const auto limit = limit_of(parts, state, group);
  const bool orthogonal = state != nullptr && state->matrix == MatrixState::orthogonal;
  if (orthogonal || parts.options.recipe.rule == Rule::lion) return 0.0;  // no eps in the step
  if (state != nullptr && state->matrix != MatrixState::diagonal && !limit) {
    return parts.ranks->owns_matrix(index) ? static_cast<double>(parameter.numel()) : 0.0;
  }
  if (!limit) return static_cast<double>(parts.ranks->own_weights(parameter, index));
  return entries_below(state->v_max.defined() ? state->v_max : state->v, *limit);
}

}  // namespace

Tensor kept_curvature(const Recipe& recipe, const ParameterState* state, const GroupOptions& group) {
  if (state == nullptr || state->steps_covered == 0) return {};
  const Tensor& kept = state->v_max.defined() ? state->v_max : state->v;
  if (!kept.defined()) return {};
  return kept * bias_correction(recipe.accumulator, group.beta2, state->steps_covered);
}

double eps_dominated(const OptimizerParts& parts, const Groups& groups, const States& states) {
  const torch::NoGradGuard no_grad;
  double weights = 0.0;
  double dominated = 0.0;
  double any = 0.0;
  std::size_t index = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const GroupOptions& options = group_options(groups, group);
    for (const Tensor& parameter : groups[group].params()) {
      const ParameterState* state = find_state(states, parameter);
      if (limit_of(parts, state, options)) any = 1.0;
      weights += static_cast<double>(parameter.numel());
      dominated += dominated_weights(parts, parameter, index++, state, options);
    }
  }
  if (parts.ranks->divided()) parts.ranks->sum({&dominated, &any});
  return any > 0.0 && weights > 0.0 ? dominated / weights : 0.0;
}

void diagnose(OptimizerParts& parts, const Groups& groups, const States& states, const Tensors& before) {
  const Recipe& recipe = parts.options.recipe;
  std::size_t index = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const GroupOptions& options = group_options(groups, group);
    GroupDiagnostics& result = parts.report.groups[group];
    double weights = 0.0;
    double dominated = 0.0;
    double clipped = 0.0;
    double change = 0.0;
    double size = 0.0;
    for (const Tensor& parameter : groups[group].params()) {
      const Tensor& old = before[index];
      const ParameterState* state = find_state(states, parameter);
      change += ops::norms(parameter.detach() - old).sum_of_squares;
      size += ops::norms(old).sum_of_squares;
      weights += static_cast<double>(parameter.numel());
      dominated += dominated_weights(parts, parameter, index++, state, options);
      if (recipe.rule == Rule::sophia && limit_of(parts, state, options)) {
        const Tensor scale = options.rho * parts.report.count * kept_curvature(recipe, state, options);
        clipped += (state->m.abs() >= scale + options.eps).sum().item<double>();
      }
    }
    if (parts.ranks->divided()) parts.ranks->sum({&dominated, &clipped});
    result.eps_dominated = weights > 0.0 ? dominated / weights : 0.0;
    result.clip_rate = weights > 0.0 ? clipped / weights : 0.0;
    result.update_to_weight = size > 0.0 ? std::sqrt(change / size) : 0.0;
  }
}

}  // namespace lehi
