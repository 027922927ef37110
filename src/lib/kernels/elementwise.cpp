#include "kernels/elementwise.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <vector>

namespace lehi::kernels {
namespace {

constexpr std::int64_t chunk_elements = 4096;

enum class Second : std::uint8_t { none, root, signed_root, label };

Second second_for(Probe probe) {
  switch (probe) {
    case Probe::gradient:
      return Second::none;
    case Probe::imitation:
    case Probe::diagonal:
      return Second::root;
    case Probe::gauss_newton:
      return Second::signed_root;
    case Probe::sampled_label:
      return Second::label;
  }
  TORCH_INTERNAL_ASSERT(false, "unknown probe");
}

template <class T>
struct Arrays {
  const T* predictions;
  const T* targets;
  T* gradient;
  T* probe;
};

template <class Formula, class T>
ElementwiseResult find_bad(const Formula& formula, const Arrays<T>& arrays, std::int64_t begin, std::int64_t end) {
  ElementwiseResult result;
  for (std::int64_t i = end - 1; i >= begin; --i) {
    if (!std::isfinite(arrays.predictions[i])) result.bad_prediction = i;
    if (!formula.accepts(arrays.targets[i])) result.bad_target = i;
  }
  return result;
}

// Elements begin..end, which are whole rows.
template <Second second, class Formula, class T>
ElementwiseResult run_chunk(const Formula& formula, const Arrays<T>& arrays, const Draws& draws, std::int64_t outputs,
                            std::int64_t begin, std::int64_t end) {
  bool good = true;
  double sum = 0.0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double p = arrays.predictions[i];
    const double y = arrays.targets[i];
    good = good && std::isfinite(p) && formula.accepts(y);
    const Point point = formula.at(p, y);
    sum += point.value;
    arrays.gradient[i] = static_cast<T>(point.slope);
    if constexpr (second == Second::root || second == Second::signed_root) {
      arrays.probe[i] = static_cast<T>(formula.root(p, y));
    }
    if constexpr (second == Second::label && Formula::has_labels) {
      arrays.probe[i] = static_cast<T>(formula.sampled(p, draws, i / outputs, i % outputs));
    }
  }
  if (!good) return find_bad(formula, arrays, begin, end);
  if constexpr (second == Second::signed_root) {
    std::vector<double> signs(static_cast<std::size_t>(outputs));
    for (std::int64_t row = begin / outputs; row < end / outputs; ++row) {
      draws.signs(row, outputs, signs.data());
      T* v = arrays.probe + row * outputs;
      for (std::int64_t j = 0; j < outputs; ++j) v[j] *= static_cast<T>(signs[static_cast<std::size_t>(j)]);
    }
  }
  ElementwiseResult result;
  result.sum = sum;
  return result;
}

template <Second second, class Formula, class T>
ElementwiseResult run(const Formula& formula, const ElementwiseTask& task, const Arrays<T>& arrays) {
  const Draws draws(task.key);
  const std::int64_t size = task.predictions.numel();
  const std::int64_t chunk = std::max<std::int64_t>(1, chunk_elements / task.outputs) * task.outputs;
  std::vector<ElementwiseResult> parts(static_cast<std::size_t>((size + chunk - 1) / chunk));
  at::parallel_for(0, static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      parts[static_cast<std::size_t>(k)] =
          run_chunk<second>(formula, arrays, draws, task.outputs, k * chunk, std::min(size, (k + 1) * chunk));
    }
  });
  ElementwiseResult total;
  for (const ElementwiseResult& part : parts) {
    total.sum += part.sum;
    if (total.bad_prediction < 0) total.bad_prediction = part.bad_prediction;
    if (total.bad_target < 0) total.bad_target = part.bad_target;
  }
  return total;
}

}  // namespace

ElementwiseResult elementwise(const ElementwiseFormula& formula, const ElementwiseTask& task,
                              const torch::Tensor& gradient, const torch::Tensor& probe) {
  ElementwiseResult result;
  AT_DISPATCH_FLOATING_TYPES(task.predictions.scalar_type(), "elementwise", [&] {
    const Arrays<scalar_t> arrays = {task.predictions.data_ptr<scalar_t>(), task.targets.data_ptr<scalar_t>(),
                                     gradient.data_ptr<scalar_t>(),
                                     probe.defined() ? probe.data_ptr<scalar_t>() : nullptr};
    result = std::visit(
        [&](const auto& f) {
          switch (second_for(task.probe)) {
            case Second::none:
              return run<Second::none>(f, task, arrays);
            case Second::root:
              return run<Second::root>(f, task, arrays);
            case Second::signed_root:
              return run<Second::signed_root>(f, task, arrays);
            case Second::label:
              return run<Second::label>(f, task, arrays);
          }
          TORCH_INTERNAL_ASSERT(false);
        },
        formula.formula);
  });
  return result;
}

torch::Tensor elementwise_second(const ElementwiseFormula& formula, const torch::Tensor& predictions,
                                 const torch::Tensor& targets) {
  torch::Tensor result = torch::empty_like(predictions);
  AT_DISPATCH_FLOATING_TYPES(predictions.scalar_type(), "elementwise_second", [&] {
    const auto* p = predictions.data_ptr<scalar_t>();
    const auto* y = targets.data_ptr<scalar_t>();
    auto* out = result.data_ptr<scalar_t>();
    std::visit(
        [&](const auto& f) {
          for (std::int64_t i = 0; i < predictions.numel(); ++i) out[i] = static_cast<scalar_t>(f.second(p[i], y[i]));
        },
        formula.formula);
  });
  return result;
}

}  // namespace lehi::kernels
