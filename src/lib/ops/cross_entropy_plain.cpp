// Cross-entropy in ATen operations: the path of other devices, and the reference of the kernel.
#include <torch/types.h>

#include "kernels/draws.h"
#include "ops/cross_entropy.h"

namespace lehi::ops {
namespace {

using kernels::CrossEntropyResult;
using kernels::Draws;
using torch::Tensor;

// Softmax of every row in the notation of kernels/cross_entropy.h. f and the masks are [rows, classes],
// the rest [rows, 1].
struct Softmax {
  Tensor top, second;  // masks of the two largest classes; `second` is empty in rows of one class
  Tensor m, gap, g, root_g, rest, b, z;
  Tensor f;  // 0 for the largest class
};

Tensor sum_of(const Tensor& x) { return x.sum(-1, /*keepdim=*/true); }

Softmax softmax_of(const Tensor& p) {
  Softmax s;
  const std::int64_t classes = p.size(1);
  const auto [values, classes_by_size] = p.topk(std::min<std::int64_t>(2, classes), -1);
  const Tensor number = torch::arange(classes, classes_by_size.options());
  s.top = number == classes_by_size.slice(1, 0, 1);
  s.m = values.slice(1, 0, 1);
  if (classes == 1) {
    s.second = torch::zeros_like(s.top);
    s.f = s.gap = s.g = s.root_g = s.rest = s.b = torch::zeros_like(p);
    s.z = torch::ones_like(p);
    return s;
  }
  s.second = number == classes_by_size.slice(1, 1, 2);
  const Tensor p2 = values.slice(1, 1, 2);
  s.f = torch::exp((p - p2).clamp_max(0.0)).masked_fill(s.top, 0.0);
  s.gap = p2 - s.m;
  s.g = torch::exp(s.gap);
  s.root_g = torch::exp(0.5 * s.gap);
  s.rest = sum_of(s.f.masked_fill(s.second, 0.0));
  s.b = 1.0 + s.rest;
  s.z = 1.0 + s.g * s.b;
  return s;
}

Tensor imitation(const Softmax& s) {
  if (s.f.size(1) == 1) return torch::zeros_like(s.f);
  const Tensor f = s.f.masked_fill(s.second, 0.0);
  const Tensor root_b = s.b.sqrt();
  const Tensor r2 = (s.z - s.g).rsqrt();
  const Tensor b2 = r2 * (s.z - s.g);
  const Tensor top_and_second = s.rest * r2 * -torch::expm1(s.gap) / (s.z * root_b * (b2 + root_b));
  const Tensor third = f.amax(-1, /*keepdim=*/true);
  const Tensor t = torch::where(third > 0.0, (third * (s.z - s.g * third)).rsqrt(), torch::zeros_like(third));
  const Tensor x = s.z - s.g * f;
  const Tensor r = (f / x).sqrt();
  const Tensor b = r * x;
  const Tensor d = r - t * f;
  const Tensor with_top = r * (1.0 + (s.rest - f)) * (1.0 - s.g * f) / (s.z * root_b * (b + root_b));
  const Tensor with_second = r * r2 * (1.0 - f) * (1.0 + s.g * (s.rest - f)) / (s.z * (b + b2));
  const Tensor others = with_top + s.g * (with_second + (s.rest * d - sum_of(d) * f) / s.z);
  const Tensor v = torch::where(s.top, -(top_and_second + sum_of(with_top)), others);
  return s.root_g * torch::where(s.second, top_and_second - s.g * sum_of(with_second), v);
}

Tensor diagonal(const Softmax& s) {
  return s.root_g * torch::where(s.top, s.b.sqrt(), (s.f * (s.z - s.g * s.f)).sqrt()) / s.z;
}

// Random numbers are drawn on the CPU and copied, so that they are the same on every device.
Tensor gauss_newton(const Softmax& s, const RandomKey& key) {
  const Draws draws(key);
  const std::int64_t classes = s.f.size(1);
  Tensor made = torch::empty(s.f.sizes(), torch::kFloat64);
  for (std::int64_t row = 0; row < made.size(0); ++row) {
    draws.signs(row, classes, made.data_ptr<double>() + row * classes);
  }
  const Tensor signs = made.to(s.f.device());
  const Tensor h = s.root_g * s.f.sqrt() * signs;
  const Tensor mix = sum_of(h);
  const Tensor sign = sum_of(signs.masked_fill(~s.top, 0.0));
  const Tensor others = h - s.g * s.f / s.z * (sign + mix);
  return torch::where(s.top, (sign * s.g * s.b - mix) / s.z, others) / s.z.sqrt();
}

Tensor sampled_label(const Softmax& s, const RandomKey& key) {
  const Draws draws(key);
  Tensor made = torch::empty({s.f.size(0), 1}, torch::kFloat64);
  for (std::int64_t row = 0; row < made.size(0); ++row) made.data_ptr<double>()[row] = draws.uniform(row, 0);
  const Tensor exponentials = torch::where(s.top, torch::ones_like(s.f), s.g * s.f);
  const Tensor passed = exponentials.cumsum(-1) <= made.to(s.f.device()) * s.z;
  const Tensor label = torch::arange(s.f.size(1), torch::TensorOptions(s.f.device())) ==
                       sum_of(passed.to(torch::kInt64)).clamp_max(s.f.size(1) - 1);
  return torch::where(s.top & label, -s.g * s.b / s.z, exponentials / s.z - (label & ~s.top).to(s.f.dtype()));
}

}  // namespace

Tensor weighted_targets(const CrossEntropyTask& task) {
  const std::int64_t classes = task.logits.size(1);
  const auto options = task.logits.options().dtype(torch::kFloat64);
  const Tensor weights = task.class_weights.defined() ? task.class_weights : torch::ones({classes}, options);
  const double even = task.label_smoothing / static_cast<double>(classes);
  const double kept = 1.0 - task.label_smoothing;
  if (!task.has_indices()) return weights * (kept * task.targets.to(torch::kFloat64) + even);
  const Tensor ignored = (task.targets == task.ignore_index).unsqueeze(-1);
  const Tensor index = task.targets.unsqueeze(-1).masked_fill(ignored, 0);
  const Tensor one_hot = torch::zeros(task.logits.sizes(), options).scatter_(-1, index, 1.0);
  return (weights * (kept * one_hot + even)).masked_fill(ignored, 0.0);
}

CrossEntropyResult cross_entropy_plain(const CrossEntropyTask& task, const Tensor& gradient, const Tensor& probe) {
  const Tensor p = task.logits.to(torch::kFloat64);
  CrossEntropyResult result;
  result.finite = torch::isfinite(p).all().item<bool>();
  if (!result.finite) return result;
  const Softmax s = softmax_of(p);
  const Tensor a = weighted_targets(task);
  const Tensor c = sum_of(a);
  const Tensor without_top = sum_of(a.masked_fill(s.top, 0.0));
  const Tensor top =
      torch::where(s.g * s.b < 1.0, without_top - c * (s.g * s.b / s.z), c / s.z - sum_of(a.masked_fill(~s.top, 0.0)));
  gradient.copy_(torch::where(s.top, top, c * (s.g / s.z) * s.f - a));
  result.sum = (sum_of(a * (s.m - p)) + c * torch::log1p(s.g * s.b)).sum().item<double>();
  if (task.has_indices()) {
    const Tensor counted = task.targets.masked_select(task.targets != task.ignore_index);
    result.count = task.class_weights.defined() ? task.class_weights.index_select(0, counted).sum().item<double>()
                                                : static_cast<double>(counted.numel());
  } else {
    result.count = static_cast<double>(p.size(0));
  }
  const Tensor factor = task.scale == Scale::mean ? c : c.sqrt();
  if (task.probe == Probe::imitation) probe.copy_(factor * imitation(s));
  if (task.probe == Probe::diagonal) probe.copy_(factor * diagonal(s));
  if (task.probe == Probe::gauss_newton) probe.copy_(factor * gauss_newton(s, task.key));
  if (task.probe == Probe::sampled_label) probe.copy_(factor * sampled_label(s, task.key));
  return result;
}

}  // namespace lehi::ops
