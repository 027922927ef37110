// Losses: value, u and v of checked tensors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cross_entropy.h"
#include "kernels/elementwise.h"
#include "operators.h"
#include "runtime/message.h"

namespace lehi::python {
namespace {

using kernels::ElementwiseFormula;

void check_predictions(std::string_view loss, const Tensor& predictions, std::int64_t least_dimensions) {
  if (!has_kernel_type(predictions)) {
    throw_invalid_argument("{}: the predictions are {}: convert them with .float()", loss,
                           text_of(predictions.scalar_type()));
  }
  if (predictions.dim() < least_dimensions || predictions.numel() == 0) {
    throw_invalid_argument("{}: the predictions have shape {}; expected at least one row, {}", loss,
                           text_of(sizes_of(predictions)), least_dimensions == 2 ? "[..., classes]" : "[..., outputs]");
  }
}

std::vector<std::int64_t> without_last(std::vector<std::int64_t> sizes) {
  sizes.pop_back();
  return sizes;
}

[[noreturn]] void throw_shapes(std::string_view loss, const Tensor& predictions, const Tensor& target,
                               const std::string& expected) {
  throw_invalid_argument("{}: the target has shape {} and the predictions {}; expected {}", loss,
                         text_of(sizes_of(target)), text_of(sizes_of(predictions)), expected);
}

void check_indices(const Tensor& indices, std::int64_t classes, std::int64_t ignore_index) {
  const auto* index = read<std::int64_t>(indices);
  const auto* end = index + indices.numel();
  const auto* bad =
      std::find_if(index, end, [&](std::int64_t i) { return (i < 0 || i >= classes) && i != ignore_index; });
  if (bad == end) return;
  throw_invalid_argument("cross_entropy: the target of row {} is {}; expected 0 to {}, or {} for a row to ignore",
                         bad - index, *bad, classes - 1, ignore_index);
}

template <class T>
void check_probabilities(const Tensor& probabilities, std::int64_t classes) {
  constexpr double tolerance = sizeof(T) == 4 ? 1e-4 : 1e-8;
  const T* p = read<T>(probabilities);
  for (std::int64_t row = 0; row < probabilities.numel() / classes; ++row, p += classes) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < classes; ++i) {
      if (!(p[i] >= T(0))) {
        throw_invalid_argument("cross_entropy: the target of row {}, class {} is {}; expected a probability", row, i,
                               p[i]);
      }
      sum += static_cast<double>(p[i]);
    }
    if (!(std::abs(sum - 1.0) <= tolerance)) {
      throw_invalid_argument("cross_entropy: the target probabilities of row {} add up to {}; expected 1 within {}",
                             row, sum, tolerance);
    }
  }
}

void check_class_target(const Tensor& logits, const Tensor& target, std::int64_t ignore_index) {
  const std::int64_t classes = logits.size(-1);
  const std::vector<std::int64_t> rows = without_last(sizes_of(logits));
  if (target.scalar_type() == ScalarType::Long) {
    if (sizes_of(target) != rows) throw_shapes("cross_entropy", logits, target, text_of(rows));
    return check_indices(target, classes, ignore_index);
  }
  if (target.scalar_type() != logits.scalar_type()) {
    throw_invalid_argument("cross_entropy: the target is {}; expected class indices of int64, or probabilities of {}",
                           text_of(target.scalar_type()), text_of(logits.scalar_type()));
  }
  if (sizes_of(target) != sizes_of(logits)) {
    throw_shapes("cross_entropy", logits, target, "class indices of int64, or probabilities of the same shape");
  }
  is_float32(logits) ? check_probabilities<float>(target, classes) : check_probabilities<double>(target, classes);
}

void check_class_weight(const Tensor& weight, std::int64_t classes) {
  if (weight.scalar_type() != ScalarType::Double || weight.dim() != 1 || weight.numel() != classes) {
    throw_invalid_argument("cross_entropy: the weight is {} of shape {}; expected float64 of shape [{}]",
                           text_of(weight.scalar_type()), text_of(sizes_of(weight)), classes);
  }
  const auto* values = read<double>(weight);
  for (std::int64_t i = 0; i < classes; ++i) {
    if (values[i] >= 0.0 && std::isfinite(values[i])) continue;
    throw_invalid_argument("cross_entropy: the weight of class {} is {}; expected a finite number, 0 or above", i,
                           values[i]);
  }
}

// [sums, u] or [sums, u, v], allocated.
Tensors new_evaluation(const Tensor& predictions, Probe probe) {
  const auto sizes = sizes_of(predictions);
  Tensors made = {new_tensor({2}, ScalarType::Double), new_tensor(sizes, predictions.scalar_type())};
  if (probe != Probe::gradient) made.push_back(new_tensor(sizes, predictions.scalar_type()));
  return made;
}

Tensors finished(Tensors made, double sum, double count, bool finite) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  auto* sums = write<double>(made[0]);
  sums[0] = finite ? sum : nan;
  sums[1] = count;
  for (std::size_t i = 1; i < made.size() && !finite; ++i) torch::stable::fill_(made[i], nan);
  return made;
}

// The count by which the mean divides, without the predictions.
template <class T>
double count_of(const kernels::CrossEntropyBatch<T>& batch) {
  if (batch.indices == nullptr) return static_cast<double>(batch.rows);
  double count = 0.0;
  for (std::int64_t row = 0; row < batch.rows; ++row) {
    const std::int64_t index = batch.indices[row];
    if (index == batch.ignore_index) continue;
    count += batch.class_weights == nullptr ? 1.0 : batch.class_weights[index];
  }
  return count;
}

template <class T>
Tensors run_cross_entropy(kernels::CrossEntropyBatch<T> batch, const Tensor& logits) {
  Tensors made = new_evaluation(logits, batch.probe);
  batch.u = write<T>(made[1]);
  if (made.size() > 2) batch.v = write<T>(made[2]);
  const kernels::CrossEntropyResult result = kernels::cross_entropy(batch, torch_threads());
  return finished(std::move(made), result.sum, result.finite ? result.count : count_of(batch), result.finite);
}

template <class T>
Tensors run_elementwise(const ElementwiseFormula& formula, kernels::ElementwiseBatch<T> batch, std::string_view loss,
                        const Tensor& predictions) {
  Tensors made = new_evaluation(predictions, batch.probe);
  batch.u = write<T>(made[1]);
  if (made.size() > 2) batch.v = write<T>(made[2]);
  const kernels::ElementwiseResult result = kernels::elementwise(formula, batch, torch_threads());
  if (result.bad_target >= 0) {
    const auto expected = std::visit([](const auto& f) { return f.expected; }, formula.formula);
    throw_invalid_argument("{}: the target of row {}, output {} is {}; expected {}", loss,
                           result.bad_target / batch.outputs, result.bad_target % batch.outputs,
                           batch.targets[result.bad_target], expected);
  }
  const auto rows = static_cast<double>(batch.size / batch.outputs);
  return finished(std::move(made), result.sum, rows, result.bad_prediction < 0);
}

void check_options(std::string_view loss, const Floats& options, std::size_t expected) {
  if (options.size() == expected) return;
  throw_invalid_argument("{}: there are {} options; expected {}", loss, options.size(), expected);
}

ElementwiseFormula formula_from(const std::string& loss, const Floats& options) {
  if (loss == "huber") {
    check_options(loss, options, 1);
    if (options[0] > 0.0 && std::isfinite(options[0])) return {kernels::HuberFormula{options[0]}};
    throw_invalid_argument("huber: delta is {}; expected a finite number above 0", options[0]);
  }
  if (loss == "focal") {
    check_options(loss, options, 2);
    if (!(options[0] >= 0.0) || !std::isfinite(options[0])) {
      throw_invalid_argument("focal: gamma is {}; expected a finite number, 0 or above", options[0]);
    }
    if (options[1] > 0.0 && options[1] < 1.0) return {kernels::FocalFormula{options[0], options[1]}};
    throw_invalid_argument("focal: alpha is {}; expected a number between 0 and 1", options[1]);
  }
  check_options(loss, options, 0);
  if (loss == "mse") return {kernels::SquaredError{}};
  if (loss == "bce") return {kernels::Logistic{}};
  if (loss == "log-cosh") return {kernels::LogCoshFormula{}};
  if (loss == "poisson-nll") return {kernels::PoissonFormula{}};
  if (loss == "squared-hinge") return {kernels::SquaredHingeFormula{}};
  throw_invalid_argument(
      "elementwise: unknown loss '{}': expected one of mse, bce, huber, log-cosh, poisson-nll, squared-hinge, focal",
      loss);
}

void check_probe(std::string_view loss, const ElementwiseFormula& formula, Probe probe) {
  const bool supported = std::visit(
      [probe](const auto& f) {
        return (probe != Probe::gauss_newton || f.convex) && (probe != Probe::sampled_label || f.has_labels);
      },
      formula.formula);
  if (!supported) throw_invalid_argument("{}: this loss has no {} probe", loss, name(probe));
}

void check_elementwise_target(const std::string& loss, const Tensor& predictions, const Tensor& target) {
  if (target.scalar_type() != predictions.scalar_type()) {
    throw_invalid_argument("{}: the target is {} and the predictions are {}: convert the target with .to(predictions)",
                           loss, text_of(target.scalar_type()), text_of(predictions.scalar_type()));
  }
  if (sizes_of(target) != sizes_of(predictions)) {
    throw_shapes(loss, predictions, target, "equal shapes: nothing is broadcast");
  }
}

}  // namespace

Tensors cross_entropy(Tensor logits, Tensor target, std::optional<Tensor> weight, double label_smoothing,
                      std::int64_t ignore_index, std::string probe, std::string scale, Ints key) {
  check_predictions("cross_entropy", logits, 2);
  if (!(label_smoothing >= 0.0 && label_smoothing < 1.0)) {
    throw_invalid_argument("cross_entropy: label_smoothing is {}; expected a number from 0 to below 1",
                           label_smoothing);
  }
  const std::int64_t classes = logits.size(-1);
  logits = as_contiguous(logits);
  target = as_contiguous(target);
  check_class_target(logits, target, ignore_index);
  if (weight) {
    weight = as_contiguous(*weight);
    check_class_weight(*weight, classes);
  }
  const auto run = [&](const auto* values) {
    using T = std::remove_cvref_t<decltype(*values)>;
    const bool has_indices = target.scalar_type() == ScalarType::Long;
    const kernels::CrossEntropyBatch<T> batch{.logits = values,
                                              .rows = logits.numel() / classes,
                                              .classes = classes,
                                              .indices = has_indices ? read<std::int64_t>(target) : nullptr,
                                              .probabilities = has_indices ? nullptr : read<T>(target),
                                              .class_weights = weight ? read<double>(*weight) : nullptr,
                                              .label_smoothing = label_smoothing,
                                              .ignore_index = ignore_index,
                                              .probe = probe_from_name(probe),
                                              .scale = scale_from_name(scale),
                                              .key = key_from(key)};
    return run_cross_entropy(batch, logits);
  };
  return is_float32(logits) ? run(read<float>(logits)) : run(read<double>(logits));
}

Tensors elementwise(std::string loss, Floats options, Tensor predictions, Tensor target, std::string probe, Ints key) {
  const ElementwiseFormula formula = formula_from(loss, options);
  check_probe(loss, formula, probe_from_name(probe));
  check_predictions(loss, predictions, 1);
  check_elementwise_target(loss, predictions, target);
  predictions = as_contiguous(predictions);
  target = as_contiguous(target);
  const auto run = [&](const auto* values) {
    using T = std::remove_cvref_t<decltype(*values)>;
    const kernels::ElementwiseBatch<T> batch{.predictions = values,
                                             .targets = read<T>(target),
                                             .size = predictions.numel(),
                                             .outputs = predictions.dim() == 1 ? 1 : predictions.size(-1),
                                             .probe = probe_from_name(probe),
                                             .key = key_from(key)};
    return run_elementwise(formula, batch, loss, predictions);
  };
  return is_float32(predictions) ? run(read<float>(predictions)) : run(read<double>(predictions));
}

Tensor elementwise_second(std::string loss, Floats options, Tensor predictions, Tensor target) {
  const ElementwiseFormula formula = formula_from(loss, options);
  check_predictions(loss, predictions, 1);
  check_elementwise_target(loss, predictions, target);
  predictions = as_contiguous(predictions);
  target = as_contiguous(target);
  Tensor result = new_tensor(sizes_of(predictions), predictions.scalar_type());
  const std::int64_t size = predictions.numel();
  if (is_float32(predictions)) {
    kernels::elementwise_second(formula, read<float>(predictions), read<float>(target), size, write<float>(result));
  } else {
    kernels::elementwise_second(formula, read<double>(predictions), read<double>(target), size, write<double>(result));
  }
  return result;
}

}  // namespace lehi::python
