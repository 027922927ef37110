// The elementwise losses in ATen operations: the path of other devices, and the reference of the kernel.
#include <torch/types.h>

#include <cmath>
#include <numbers>

#include "ops/elementwise.h"

namespace lehi::ops {
namespace {

using kernels::Draws;
using kernels::ElementwiseResult;
using torch::Tensor;

struct Tensors {
  Tensor value, slope, root, accepted;
};

Tensors plain(const kernels::SquaredError&, const Tensor& p, const Tensor& y) {
  const Tensor e = p - y;
  return {0.5 * e * e, e, torch::ones_like(e), torch::isfinite(y)};
}

Tensors plain(const kernels::Logistic&, const Tensor& p, const Tensor& y) {
  const Tensor smaller = torch::sigmoid(-p.abs());
  const Tensor positive = p >= 0.0;
  return {torch::where(positive, p * (1.0 - y), -p * y) + torch::log1p(torch::exp(-p.abs())),
          torch::where(positive, (1.0 - y) - smaller, smaller - y), 0.5 / torch::cosh(0.5 * p),
          (y >= 0.0) & (y <= 1.0)};
}

Tensors plain(const kernels::HuberFormula& f, const Tensor& p, const Tensor& y) {
  const Tensor e = p - y;
  const Tensor inside = e.abs() <= f.delta;
  return {torch::where(inside, 0.5 * e * e, f.delta * (e.abs() - 0.5 * f.delta)), e.clamp(-f.delta, f.delta),
          inside.to(e.dtype()), torch::isfinite(y)};
}

Tensors plain(const kernels::LogCoshFormula&, const Tensor& p, const Tensor& y) {
  const Tensor e = p - y;
  const Tensor size = e.abs();
  const Tensor near = 0.5 * torch::log1p(torch::sinh(size.clamp_max(1.0)).square());
  const Tensor far = size + torch::log1p(torch::exp(-2.0 * size)) - std::numbers::ln2;
  return {torch::where(size < 1.0, near, far), torch::tanh(e), 1.0 / torch::cosh(e), torch::isfinite(y)};
}

Tensors plain(const kernels::PoissonFormula&, const Tensor& p, const Tensor& y) {
  return {torch::exp(p) - y * p, torch::exp(p) - y, torch::exp(0.5 * p), (y >= 0.0) & torch::isfinite(y)};
}

Tensors plain(const kernels::SquaredHingeFormula&, const Tensor& p, const Tensor& y) {
  const Tensor margin = (1.0 - y * p).clamp_min(0.0);
  return {margin * margin, -2.0 * y * margin, (y * p < 1.0).to(p.dtype()) * std::numbers::sqrt2, y.abs() == 1.0};
}

Tensors plain(const kernels::FocalFormula& f, const Tensor& p, const Tensor& y) {
  const Tensor t = torch::where(y == 1.0, p, -p);
  const Tensor q = torch::sigmoid(t);
  const Tensor other = torch::sigmoid(-t);
  const Tensor loss = -torch::log_sigmoid(t);
  const Tensor factor = torch::where(y == 1.0, torch::full_like(y, f.alpha), torch::full_like(y, 1.0 - f.alpha)) *
                        torch::exp(f.gamma * torch::log_sigmoid(-t));
  const Tensor slope = -factor * (f.gamma * q * loss + other);
  const Tensor second = factor * q * (f.gamma * f.gamma * q * loss + other * (2.0 * f.gamma + 1.0 - f.gamma * loss));
  return {factor * loss, torch::where(y == 1.0, slope, -slope), second.abs().sqrt(), (y == 0.0) | (y == 1.0)};
}

// Random numbers are drawn on the CPU and copied, so that they are the same on every device.
Tensor signs(const ElementwiseTask& task, std::int64_t rows) {
  const Draws draws(task.key);
  Tensor result = torch::empty({rows, task.outputs}, torch::kFloat64);
  for (std::int64_t row = 0; row < rows; ++row) {
    draws.signs(row, task.outputs, result.data_ptr<double>() + row * task.outputs);
  }
  return result.view_as(task.predictions);
}

template <class Formula>
Tensor sampled([[maybe_unused]] const Formula& formula, const ElementwiseTask& task) {
  const Draws draws(task.key);
  Tensor result = task.predictions.to(torch::kCPU, torch::kFloat64).clone();
  if constexpr (Formula::has_labels) {
    auto* values = result.data_ptr<double>();
    for (std::int64_t i = 0; i < result.numel(); ++i) {
      values[i] = formula.sampled(values[i], draws, i / task.outputs, i % task.outputs);
    }
  }
  return result;
}

std::int64_t first_false(const Tensor& good) {
  if (good.all().item<bool>()) return -1;
  return (~good).flatten().to(torch::kUInt8).argmax().item<std::int64_t>();
}

template <class Formula>
ElementwiseResult run(const Formula& formula, const ElementwiseTask& task, const Tensor& gradient,
                      const Tensor& probe) {
  const Tensor p = task.predictions.to(torch::kFloat64);
  const Tensors parts = plain(formula, p, task.targets.to(torch::kFloat64));
  gradient.copy_(parts.slope);
  if (task.probe == Probe::imitation || task.probe == Probe::diagonal) probe.copy_(parts.root);
  if (task.probe == Probe::gauss_newton) probe.copy_(parts.root * signs(task, p.numel() / task.outputs).to(p.device()));
  if (task.probe == Probe::sampled_label) probe.copy_(sampled(formula, task));
  return {parts.value.sum().item<double>(), first_false(torch::isfinite(p)), first_false(parts.accepted)};
}

}  // namespace

ElementwiseResult elementwise_plain(const kernels::ElementwiseFormula& formula, const ElementwiseTask& task,
                                    const torch::Tensor& gradient, const torch::Tensor& probe) {
  return std::visit([&](const auto& f) { return run(f, task, gradient, probe); }, formula.formula);
}

}  // namespace lehi::ops
