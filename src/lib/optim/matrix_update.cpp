#include "optim/matrix_update.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/kronecker.h"
#include "ops/orthogonal.h"
#include "ops/update.h"
#include "plan/coefficients.h"

namespace lehi {

using torch::Tensor;

namespace {

bool turns_left(const ParameterState& state) {
  return state.matrix == MatrixState::left || state.matrix == MatrixState::both;
}
bool turns_right(const ParameterState& state) {
  return state.matrix == MatrixState::right || state.matrix == MatrixState::both;
}
bool has_bases(const ParameterState& state) { return state.left_basis.defined() || state.right_basis.defined(); }

torch::TensorOptions state_options(const Tensor& parameter) {
  return torch::TensorOptions()
      .dtype(torch::promote_types(parameter.scalar_type(), torch::kFloat32))
      .device(parameter.device());
}

// In the precision of the state. Contiguous: BLAS rounds the products of a transposed matrix differently, and the bits
// are not to depend on how a gradient came.
Tensor as_matrix(const Tensor& like_parameter) {
  return like_parameter.to(torch::promote_types(like_parameter.scalar_type(), torch::kFloat32))
      .reshape({like_parameter.size(0), -1})
      .contiguous();
}

// A moment as a matrix that shares its memory.
Tensor moment_matrix(Tensor& moment) {
  if (!moment.defined()) return {};
  if (!moment.is_contiguous()) moment = moment.contiguous();  // loaded from a parameter of another memory order
  return moment.view({moment.size(0), -1});
}

// W <- decay W + factor change, where W may be in any memory order or type.
void add_change(const Tensor& parameter, double decay, double factor, const Tensor& change,
                const ops::WeightRounding& rounding) {
  const Tensor shaped = change.view(parameter.sizes());
  if (parameter.scalar_type() == change.scalar_type()) {
    const Tensor weights = parameter.detach();
    weights.mul_(decay).add_(shaped, factor);
  } else {
    const Tensor weights = parameter.detach().to(change.scalar_type()).mul_(decay).add_(shaped, factor);
    ops::store_rounded(parameter.detach(), weights, rounding);
  }
}

Tensor with_coupled_decay(const MatrixStep& step, const Tensor& parameter, const Tensor& g) {
  Tensor matrix = as_matrix(g);
  if (step.factors.g != 1.0) matrix = matrix * step.factors.g;
  if (step.recipe.decay == Decay::coupled && step.numbers.weight_decay != 0.0) {
    matrix = matrix.add(as_matrix(parameter.detach()), step.numbers.weight_decay);
  }
  return matrix;
}

Tensor random_like(const Tensor& s, std::uint64_t seed) {
  auto generator = at::detail::createCPUGenerator(seed);
  const Tensor numbers = torch::randn(s.sizes(), generator, s.options().device(torch::kCPU)).to(s.device());
  return numbers * (s.norm() / numbers.norm());
}

void add_factors(const MatrixStep& step, const Tensor& matrix, double factor, ParameterState& state) {
  const double gain = (1.0 - step.numbers.beta3) * factor * factor;
  if (turns_left(state)) ops::add_to_factor(state.left, matrix, step.numbers.beta3, gain);
  if (turns_right(state)) ops::add_to_factor(state.right, matrix.t(), step.numbers.beta3, gain);
}

// m is turned on into a new basis; the entries of v follow their vectors.
void change_basis(const ops::Basis& next, std::int64_t side, Tensor& basis, ParameterState& state) {
  if (!next.vectors.defined()) return;
  if (const Tensor m = moment_matrix(state.m); m.defined()) {
    const auto left = [side](const Tensor& vectors) { return side == 0 ? vectors : Tensor(); };
    const auto right = [side](const Tensor& vectors) { return side == 1 ? vectors : Tensor(); };
    const Tensor unturned = ops::turn_back(m, left(basis), right(basis));
    m.copy_(ops::turn(unturned, left(next.vectors), right(next.vectors)));
  }
  if (next.order.defined()) {
    for (Tensor* moment : {&state.v, &state.v_max}) {
      if (const Tensor v = moment_matrix(*moment); v.defined()) v.copy_(v.index_select(side, next.order));
    }
  }
  basis = next.vectors;
}

void renew_bases(ParameterState& state) {
  if (turns_left(state)) change_basis(ops::next_basis(state.left, state.left_basis), 0, state.left_basis, state);
  if (turns_right(state)) change_basis(ops::next_basis(state.right, state.right_basis), 1, state.right_basis, state);
}

void update_in_bases(const MatrixStep& step, const Tensor& parameter, const Tensor& g, const Tensor& s,
                     ParameterState& state) {
  auto scalars = coefficients({.recipe = step.recipe,
                               .numbers = step.numbers,
                               .counts = state,
                               .plan = step.plan,
                               .count = step.count,
                               .s_factor = step.factors.s});
  const double decay = std::exchange(scalars.w_decay, 1.0);
  ops::UpdateTensors tensors;
  tensors.g = ops::turn(g, state.left_basis, state.right_basis);
  if (step.plan.squares_probe()) tensors.s = ops::turn(s, state.left_basis, state.right_basis);
  tensors.w = torch::zeros_like(tensors.g);
  tensors.m = moment_matrix(state.m);
  tensors.v = moment_matrix(state.v);
  tensors.v_max = moment_matrix(state.v_max);
  ops::update(tensors, scalars);
  const Tensor change = ops::turn_back(tensors.w, state.left_basis, state.right_basis);
  add_change(parameter, decay, step.recipe.kronecker.step_factor, change, step.rounding);
}

void update_kronecker(const MatrixStep& step, const Tensor& parameter, const Tensor& g, const Tensor& s,
                      ParameterState& state) {
  const Tensor gradient = with_coupled_decay(step, parameter, g);
  Tensor probe;
  if (step.plan.second_backward()) probe = s.defined() ? as_matrix(s) : torch::zeros_like(gradient);
  if (step.plan.probe_factors) {
    const bool random = step.recipe.kronecker.factors == FactorSource::random;
    add_factors(step, random ? random_like(probe, step.random_factors) : probe, step.factors.s, state);
    renew_bases(state);
  }
  if (has_bases(state) && !awaits_refresh(step.recipe, step.plan, state)) {
    count_step(step.recipe, step.numbers, step.plan, state);
    update_in_bases(step, parameter, gradient, probe, state);
  }
  if (step.plan.gradient_factors) {
    add_factors(step, gradient, 1.0, state);
    // A matrix that has its first gradient between two new bases would wait for the next ones.
    if (step.plan.gradient_bases || !has_bases(state)) renew_bases(state);
  }
}

void update_orthogonal(const MatrixStep& step, const Tensor& parameter, const Tensor& g, ParameterState& state) {
  count_step(step.recipe, step.numbers, step.plan, state);
  const Hyperparameters& numbers = step.numbers;
  const Tensor gradient = with_coupled_decay(step, parameter, g);
  const Tensor m = moment_matrix(state.m);
  m.lerp_(gradient, 1.0 - numbers.momentum);
  const Tensor direction = numbers.nesterov ? gradient.lerp(m, numbers.momentum) : m;
  const auto longer = static_cast<double>(std::max(m.size(0), m.size(1)));
  const double rate = 0.2 * numbers.lr * std::sqrt(longer);
  const double decay = step.recipe.decay == Decay::decoupled ? 1.0 - numbers.lr * numbers.weight_decay : 1.0;
  add_change(parameter, decay, -rate, ops::orthogonal(direction).contiguous(), step.rounding);
}

}  // namespace

MatrixSize matrix_size(const Tensor& parameter) {
  if (parameter.dim() < 2 || parameter.numel() == 0) return {};
  return {
      .rows = parameter.size(0), .columns = parameter.numel() / parameter.size(0), .convolution = parameter.dim() > 2};
}

std::vector<std::int64_t> factor_sizes(const Kronecker& kronecker, std::int64_t side, std::int64_t other) {
  const std::int64_t length = block_length(kronecker, side, other);
  return {side / length, length, length};
}

void begin_matrix(const Recipe& recipe, const Hyperparameters& numbers, const Tensor& parameter,
                  ParameterState& state) {
  const auto options = state_options(parameter);
  const auto zero = [&](Tensor& tensor, at::IntArrayRef sizes) {
    if (!tensor.defined()) tensor = torch::zeros(sizes, options);
  };
  const KeptState kept = kept_state(recipe, numbers);
  const bool orthogonal = state.matrix == MatrixState::orthogonal;
  if (kept.m || orthogonal) zero(state.m, parameter.sizes());
  if (orthogonal) return;
  if (kept.v) zero(state.v, parameter.sizes());
  if (kept.v_max) zero(state.v_max, parameter.sizes());
  const MatrixSize size = matrix_size(parameter);
  if (turns_left(state)) zero(state.left, factor_sizes(recipe.kronecker, size.rows, size.columns));
  if (turns_right(state)) zero(state.right, factor_sizes(recipe.kronecker, size.columns, size.rows));
}

void update_matrix(const MatrixStep& step, const Tensor& parameter, const Tensor& g, const Tensor& s,
                   ParameterState& state) {
  const torch::NoGradGuard no_grad;  // also on the threads of a parallel loop
  if (state.matrix == MatrixState::orthogonal) return update_orthogonal(step, parameter, g, state);
  update_kronecker(step, parameter, g, s, state);
}

}  // namespace lehi
