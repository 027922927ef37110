#include "optim/updater.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <utility>

#include "ops/kronecker.h"
#include "ops/update.h"
#include "optim/matrix_update.h"
#include "plan/coefficients.h"
#include "runtime/blas.h"

namespace lehi {

using torch::Tensor;

namespace {

MatrixState matrix_state_of(const TurnedSides& sides) {
  if (sides.left && sides.right) return MatrixState::both;
  if (sides.left) return MatrixState::left;
  return sides.right ? MatrixState::right : MatrixState::diagonal;
}

// Two numbers in one: a key of its own for each step and parameter.
std::uint64_t random_key(std::uint64_t seed, std::int64_t step, std::size_t index) {
  return seed * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(step) * 0xD1B54A32D192ED03U + index;
}

// Products that are worth several threads.
bool is_large(const Tensor& parameter) {
  constexpr double multiplications = 0x1p24;
  const MatrixSize size = matrix_size(parameter);
  const auto rows = static_cast<double>(size.rows);
  const auto columns = static_cast<double>(size.columns);
  return rows * columns * (rows + columns) >= multiplications;
}

// work(item) for each item, shared out over all threads. BLAS takes one thread for a product inside of a parallel loop,
// so each has the same bits on any number of threads, and in any company.
void on_one_thread_each(const std::vector<std::size_t>& items, const std::function<void(std::size_t)>& work) {
  if (items.empty()) return;
  std::atomic<std::size_t> next = 0;
  at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t first, std::int64_t last) {
    const runtime::OneBlasThread one_thread;
    for (std::int64_t worker = first; worker < last; ++worker) {
      for (std::size_t i = next++; i < items.size(); i = next++) work(items[i]);
    }
  });
}

}  // namespace

Tensor zero_moment(const Tensor& parameter, std::size_t index, MatrixState matrix, const RankTeam& ranks) {
  const auto dtype = torch::promote_types(parameter.scalar_type(), torch::kFloat32);
  const auto options = parameter.options().dtype(dtype).requires_grad(false);
  if (matrix != MatrixState::diagonal) return torch::zeros(parameter.sizes(), options);
  if (ranks.divided()) return torch::zeros({ranks.own_weights(parameter, index)}, options);
  return torch::zeros_like(parameter, options, torch::MemoryFormat::Preserve);
}

const ParameterState* find_state(const States& states, const Tensor& parameter) {
  const auto found = states.find(compat::state_key(parameter));
  return found == states.end() ? nullptr : dynamic_cast<const ParameterState*>(found->second.get());
}

std::vector<std::size_t> matrices_of(const ParameterTable& parameters, const States& states) {
  std::vector<std::size_t> matrices;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterState* state = find_state(states, parameters.tensor(i));
    if (state != nullptr && state->matrix != MatrixState::diagonal) matrices.push_back(i);
  }
  return matrices;
}

MatrixOrder matrix_order(const ParameterTable& parameters, const RankTeam& ranks, std::vector<std::size_t> matrices,
                         int threads) {
  std::erase_if(matrices, [&](std::size_t index) { return !ranks.owns_matrix(index); });
  const auto numel = [&](std::size_t index) { return parameters.tensor(index).numel(); };
  std::stable_sort(matrices.begin(), matrices.end(),
                   [&](std::size_t one, std::size_t other) { return numel(one) > numel(other); });
  const auto small = std::stable_partition(matrices.begin(), matrices.end(),
                                           [&](std::size_t index) { return is_large(parameters.tensor(index)); });
  if (small - matrices.begin() >= threads) return {.side_by_side = std::move(matrices)};
  return {.in_turn = {matrices.begin(), small}, .side_by_side = {small, matrices.end()}};
}

MatrixState Updater::matrix_state(std::size_t index) const {
  const Recipe& recipe = options.recipe;
  if (recipe.shape == Shape::diagonal || parameters.options_of(index).diagonal) return MatrixState::diagonal;
  if (is_named(parameters.name(index), options.shapes.diagonal_names)) return MatrixState::diagonal;
  const MatrixSize size = matrix_size(parameters.tensor(index));
  if (recipe.shape == Shape::kronecker) {
    return matrix_state_of(turned_sides(recipe.kronecker, size, predictions, options.shapes.largest_side));
  }
  const bool fits =
      std::min(size.rows, size.columns) > 1 && std::max(size.rows, size.columns) <= options.shapes.largest_side;
  return fits ? MatrixState::orthogonal : MatrixState::diagonal;
}

ParameterState& Updater::begin(States& states, std::size_t index) const {
  auto& slot = states[parameters.key(index)];
  if (!slot) {
    slot = std::make_unique<ParameterState>();
    dynamic_cast<ParameterState&>(*slot).matrix = matrix_state(index);
  }
  return dynamic_cast<ParameterState&>(*slot);
}

void Updater::update(States& states, std::size_t index, const Tensor& g, const Tensor& s) const {
  ParameterState& state = begin(states, index);
  if (state.matrix == MatrixState::diagonal) return update_one(index, g, s, state);
  if (!ranks.owns_matrix(index)) return;
  if (is_large(parameters.tensor(index))) return update_one(index, g, s, state);
  on_one_thread_each({index}, [&](std::size_t) { update_one(index, g, s, state); });
}

void Updater::update_all(States& states, const Tensors& g, const Tensors& s) const {
  std::vector<ParameterState*> states_of(g.size());
  std::vector<std::size_t> matrices;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g[i].defined()) continue;
    ParameterState& state = begin(states, i);
    states_of[i] = &state;
    if (state.matrix == MatrixState::diagonal) {
      update_one(i, g[i], s[i], state);
    } else {
      matrices.push_back(i);
    }
  }
  const auto update_at = [&](std::size_t i) { update_one(i, g[i], s[i], *states_of[i]); };
  const MatrixOrder order = matrix_order(parameters, ranks, std::move(matrices), at::get_num_threads());
  for (const std::size_t i : order.in_turn) update_at(i);
  on_one_thread_each(order.side_by_side, update_at);
}

void Updater::update_one(std::size_t index, const Tensor& g, const Tensor& s, ParameterState& state) const {
  const torch::NoGradGuard no_grad;
  if (state.matrix == MatrixState::diagonal) return update_diagonal(index, g, s, state);
  const MatrixStep matrix_step{.recipe = options.recipe,
                               .numbers = parameters.options_of(index),
                               .plan = plan,
                               .factors = factors,
                               .count = count,
                               .random_factors = random_key(options.seed, step, index),
                               .rounding = rounding(index)};
  const Tensor& parameter = parameters.tensor(index);
  begin_matrix(options.recipe, matrix_step.numbers, parameter, state);
  try {
    update_matrix(matrix_step, parameter, g, s, state);
  } catch (const ops::DecompositionError& error) {
    throw std::runtime_error(fmt::format("{}: {}", parameters.name(index), error.what()));
  }
}

ops::WeightRounding Updater::rounding(std::size_t index, std::int64_t first) const {
  return {.stochastic = options.rounding == Rounding::stochastic,
          .key = {.seed = options.seed,
                  .step = static_cast<std::uint64_t>(step),
                  .stream = static_cast<std::uint32_t>(index)},
          .first = first};
}

void Updater::update_diagonal(std::size_t index, const Tensor& g, const Tensor& s, ParameterState& state) const {
  const Recipe& recipe = options.recipe;
  const GroupOptions& numbers = parameters.options_of(index);
  const Tensor& parameter = parameters.tensor(index);
  const KeptState kept = kept_state(recipe, numbers);
  const auto zero = [&](Tensor& moment) {
    if (!moment.defined()) moment = zero_moment(parameter, index, MatrixState::diagonal, ranks);
  };
  if (kept.m) zero(state.m);
  if (kept.v) zero(state.v);
  if (kept.v_max) zero(state.v_max);

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
  if (plan.squares_probe()) tensors.s = s.defined() ? ranks.own_part(s, index) : torch::zeros_like(tensors.g);
  ops::update(tensors, scalars, rounding(index, ranks.own_first(index)));
}

}  // namespace lehi
