#include "optim/updater.h"

#include "ops/update.h"
#include "plan/coefficients.h"

namespace lehi {

using torch::Tensor;

Tensor zero_moment(const Tensor& parameter, std::size_t index, const RankTeam& ranks) {
  const auto dtype = torch::promote_types(parameter.scalar_type(), torch::kFloat32);
  const auto options = parameter.options().dtype(dtype).requires_grad(false);
  if (ranks.divided()) return torch::zeros({ranks.own_weights(parameter, index)}, options);
  return torch::zeros_like(parameter, options, torch::MemoryFormat::Preserve);
}

const ParameterState* find_state(const States& states, const Tensor& parameter) {
  const auto found = states.find(compat::state_key(parameter));
  return found == states.end() ? nullptr : dynamic_cast<const ParameterState*>(found->second.get());
}

void Updater::update(States& states, std::size_t index, const Tensor& g, const Tensor& s) const {
  const torch::NoGradGuard no_grad;
  const GroupOptions& numbers = parameters.options_of(index);
  const Tensor& parameter = parameters.tensor(index);
  auto& slot = states[parameters.key(index)];
  if (!slot) slot = std::make_unique<ParameterState>();
  auto& state = dynamic_cast<ParameterState&>(*slot);
  const KeptState kept = kept_state(recipe, numbers);
  if (kept.m && !state.m.defined()) state.m = zero_moment(parameter, index, ranks);
  if (kept.v && !state.v.defined()) state.v = zero_moment(parameter, index, ranks);
  if (kept.v_max && !state.v_max.defined()) state.v_max = zero_moment(parameter, index, ranks);

  if (awaits_refresh(recipe, plan, state)) return;
  count_step(recipe, numbers, plan, state);
  kernels::UpdateCoefficients scalars = coefficients({.recipe = recipe,
                                                      .numbers = numbers,
                                                      .counts = state,
                                                      .plan = plan,
                                                      .count = count,
                                                      .g_factor = factors.g,
                                                      .s_factor = factors.s});
  if (ranks.own_weights(parameter, index) == 0 && ranks.divided()) return;
  ops::UpdateTensors tensors{
      ranks.own_part(parameter, index), ranks.own_part(g, index), {}, state.m, state.v, state.v_max};
  if (recipe.decay == Decay::coupled && numbers.weight_decay != 0.0) {
    tensors.g = (tensors.g * scalars.g_factor).add_(tensors.w.detach(), numbers.weight_decay);
    scalars.g_factor = 1.0;
  }
  if (plan.second_backward()) tensors.s = s.defined() ? ranks.own_part(s, index) : torch::zeros_like(tensors.g);
  ops::update(tensors, scalars);
}

}  // namespace lehi
