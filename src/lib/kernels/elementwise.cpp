#include "kernels/elementwise.h"

#include <algorithm>
#include <stdexcept>
#include <variant>
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
  throw std::logic_error("kernels::elementwise: unknown probe");
}

template <class Formula, class T>
ElementwiseResult find_bad(const Formula& formula, const ElementwiseBatch<T>& batch, std::int64_t begin,
                           std::int64_t end) {
  ElementwiseResult result;
  for (std::int64_t i = end - 1; i >= begin; --i) {
    if (!std::isfinite(batch.predictions[i])) result.bad_prediction = i;
    if (!formula.accepts(batch.targets[i])) result.bad_target = i;
  }
  return result;
}

// Elements [begin, end), which are whole rows.
template <Second second, class Formula, class T>
ElementwiseResult run_chunk(const Formula& formula, const ElementwiseBatch<T>& batch, const Draws& draws,
                            std::int64_t begin, std::int64_t end) {
  const std::int64_t outputs = batch.outputs;
  bool good = true;
  double sum = 0.0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double p = batch.predictions[i];
    const double y = batch.targets[i];
    good = good && std::isfinite(p) && formula.accepts(y);
    const Point point = formula.at(p, y);
    sum += point.value;
    batch.u[i] = static_cast<T>(point.slope);
    if constexpr (second == Second::root || second == Second::signed_root) {
      batch.v[i] = static_cast<T>(formula.root(p, y));
    }
    if constexpr (second == Second::label && Formula::has_labels) {
      batch.v[i] = static_cast<T>(formula.sampled(p, draws, i / outputs, i % outputs));
    }
  }
  if (!good) return find_bad(formula, batch, begin, end);
  if constexpr (second == Second::signed_root) {
    std::vector<double> signs(static_cast<std::size_t>(outputs));
    for (std::int64_t row = begin / outputs; row < end / outputs; ++row) {
      draws.signs(row, outputs, signs.data());
      T* v = batch.v + row * outputs;
      for (std::int64_t j = 0; j < outputs; ++j) v[j] *= static_cast<T>(signs[static_cast<std::size_t>(j)]);
    }
  }
  ElementwiseResult result;
  result.sum = sum;
  return result;
}

template <Second second, class Formula, class T>
ElementwiseResult run(const Formula& formula, const ElementwiseBatch<T>& batch, const ParallelFor& parallel) {
  const Draws draws(batch.key);
  const std::int64_t size = batch.size;
  const std::int64_t chunk = std::max<std::int64_t>(1, chunk_elements / batch.outputs) * batch.outputs;
  std::vector<ElementwiseResult> parts(static_cast<std::size_t>((size + chunk - 1) / chunk));
  parallel(static_cast<std::int64_t>(parts.size()), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      parts[static_cast<std::size_t>(k)] =
          run_chunk<second>(formula, batch, draws, k * chunk, std::min(size, (k + 1) * chunk));
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

template <class T>
ElementwiseResult run_formula(const ElementwiseFormula& formula, const ElementwiseBatch<T>& batch,
                              const ParallelFor& parallel) {
  return std::visit(
      [&](const auto& f) {
        switch (second_for(batch.probe)) {
          case Second::none:
            return run<Second::none>(f, batch, parallel);
          case Second::root:
            return run<Second::root>(f, batch, parallel);
          case Second::signed_root:
            return run<Second::signed_root>(f, batch, parallel);
          case Second::label:
            return run<Second::label>(f, batch, parallel);
        }
        throw std::logic_error("kernels::elementwise: unknown second vector");
      },
      formula.formula);
}

template <class T>
void second_of(const ElementwiseFormula& formula, const T* predictions, const T* targets, std::int64_t size, T* out) {
  std::visit(
      [&](const auto& f) {
        for (std::int64_t i = 0; i < size; ++i) out[i] = static_cast<T>(f.second(predictions[i], targets[i]));
      },
      formula.formula);
}

}  // namespace

ElementwiseResult elementwise(const ElementwiseFormula& formula, const ElementwiseBatch<float>& batch,
                              const ParallelFor& parallel) {
  return run_formula(formula, batch, parallel);
}

ElementwiseResult elementwise(const ElementwiseFormula& formula, const ElementwiseBatch<double>& batch,
                              const ParallelFor& parallel) {
  return run_formula(formula, batch, parallel);
}

void elementwise_second(const ElementwiseFormula& formula, const float* predictions, const float* targets,
                        std::int64_t size, float* out) {
  second_of(formula, predictions, targets, size, out);
}

void elementwise_second(const ElementwiseFormula& formula, const double* predictions, const double* targets,
                        std::int64_t size, double* out) {
  second_of(formula, predictions, targets, size, out);
}

}  // namespace lehi::kernels
