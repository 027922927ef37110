#include "loss/class_targets.h"

#include <algorithm>
#include <vector>

#include "loss/checks.h"
#include "runtime/message.h"

namespace lehi {
namespace {

std::vector<std::int64_t> without(at::IntArrayRef sizes, std::size_t dimension) {
  std::vector<std::int64_t> result = sizes.vec();
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(dimension));
  return result;
}

[[noreturn]] void throw_shape_mismatch(const torch::Tensor& predictions, const torch::Tensor& targets) {
  const auto p = predictions.sizes();
  const std::string both = fmt::format("targets of shape {} do not match predictions of shape {}",
                                       shape_string(targets.sizes()), shape_string(p));
  const bool class_dimension_second =
      p.size() > 2 && (targets.is_floating_point() ? targets.sizes() == p : targets.sizes() == without(p, 1));
  if (class_dimension_second) {
    throw_invalid_argument(
        "cross-entropy: {}: classes must be the last dimension, not the second as in torch: use "
        "predictions.movedim(1, -1)",
        both);
  }
  throw_invalid_argument("cross-entropy: {}: expected class indices of shape {} or probabilities of shape {}", both,
                         shape_string(without(p, p.size() - 1)), shape_string(p));
}

void check_indices(const torch::Tensor& indices, std::int64_t classes, std::int64_t ignore_index) {
  if (indices.device().is_cpu()) {  // faster for valid indices: no temporary tensors
    const std::int64_t* index = indices.data_ptr<std::int64_t>();
    const auto good = [&](std::int64_t i) { return (i >= 0 && i < classes) || i == ignore_index; };
    if (std::all_of(index, index + indices.numel(), good)) return;
  }
  const torch::Tensor bad = (indices < 0).logical_or(indices >= classes).logical_and(indices != ignore_index);
  if (!bad.any().item<bool>()) return;
  const auto row = bad.to(torch::kUInt8).argmax().item<std::int64_t>();
  throw_invalid_argument(
      "cross-entropy: the class index of row {} is {}; expected 0 to {} for {} classes, or {} for a row to ignore", row,
      indices[row].item<std::int64_t>(), classes - 1, classes, ignore_index);
}

void check_probabilities(const torch::Tensor& probabilities) {
  const double tolerance = probabilities.scalar_type() == torch::kFloat32 ? 1e-4 : 1e-8;
  const torch::Tensor good_entries = probabilities >= 0.0;  // false for NaN too
  if (!good_entries.all().item<bool>()) {
    const auto index = good_entries.flatten().logical_not().to(torch::kUInt8).argmax().item<std::int64_t>();
    const std::int64_t classes = probabilities.size(1);
    throw_invalid_argument(
        "cross-entropy: the target probability of row {}, class {} is {}; expected a number that is not negative",
        index / classes, index % classes, probabilities.flatten()[index].item<double>());
  }
  const torch::Tensor sums = probabilities.sum(-1, /*keepdim=*/false, torch::kFloat64);
  const torch::Tensor good = (sums - 1.0).abs() <= tolerance;
  if (good.all().item<bool>()) return;
  const auto row = good.logical_not().to(torch::kUInt8).argmax().item<std::int64_t>();
  throw_invalid_argument("cross-entropy: the target probabilities of row {} add up to {}; expected 1 within {}", row,
                         sums[row].item<double>(), tolerance);
}

}  // namespace

torch::Tensor checked_class_targets(const CrossEntropyOptions& options, const torch::Tensor& predictions,
                                    const torch::Tensor& targets) {
  if (predictions.dim() < 2) {
    throw_invalid_argument(
        "cross-entropy: predictions of shape {} have no class dimension: expected [..., classes]; a single row needs "
        ".unsqueeze(0)",
        shape_string(predictions.sizes()));
  }
  const auto classes = predictions.size(-1);
  const auto index_sizes = predictions.sizes().slice(0, static_cast<std::size_t>(predictions.dim() - 1));
  const bool index_shape = targets.sizes() == index_sizes;
  const auto dtype = targets.scalar_type();
  if (dtype == torch::kInt64) {
    if (!index_shape) throw_shape_mismatch(predictions, targets);
    torch::Tensor indices = targets.reshape({-1}).contiguous();
    check_indices(indices, classes, options.ignore_index);
    return indices;
  }
  if (index_shape || !targets.is_floating_point()) {
    throw_invalid_argument(
        "cross-entropy: targets are {}; class indices must be int64: convert them with .to(torch::kInt64)",
        c10::toString(dtype));
  }
  if (targets.sizes() != predictions.sizes()) throw_shape_mismatch(predictions, targets);
  if (dtype != predictions.scalar_type()) {
    throw_invalid_argument(
        "cross-entropy: target probabilities are {} and predictions {}: both must have the same dtype",
        c10::toString(dtype), c10::toString(predictions.scalar_type()));
  }
  torch::Tensor probabilities = targets.reshape({-1, classes}).contiguous();
  check_probabilities(probabilities);
  return probabilities;
}

}  // namespace lehi
