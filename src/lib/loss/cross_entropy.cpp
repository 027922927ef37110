#include "lehi/cross_entropy.h"

#include <c10/util/Exception.h>

#include "loss/checks.h"
#include "loss/class_targets.h"
#include "ops/cross_entropy.h"
#include "runtime/message.h"

namespace lehi {
namespace {

// Stored as float64 on the CPU: the loss accepts predictions of any dtype and device.
torch::Tensor checked_weights(const torch::Tensor& given) {
  if (!given.defined()) return given;
  if (given.dim() != 1 || given.numel() == 0) {
    throw_invalid_argument("cross-entropy: class_weights have shape {}; expected one weight per class, [C]",
                           shape_string(given.sizes()));
  }
  torch::Tensor weights = given.detach().to(torch::kCPU, torch::kFloat64).contiguous().clone();
  for (std::int64_t i = 0; i < weights.numel(); ++i) {
    const double weight = weights.data_ptr<double>()[i];
    if (!(weight >= 0.0) || !std::isfinite(weight)) {
      throw_invalid_argument("cross-entropy: the class weight of class {} is {}; expected a finite number, 0 or above",
                             i, weight);
    }
  }
  return weights;
}

ops::CrossEntropyTask make_task(const CrossEntropyOptions& options, const torch::Tensor& predictions,
                                const torch::Tensor& targets, const ProbeRequest& request) {
  ops::CrossEntropyTask task;
  task.targets = checked_class_targets(options, predictions, targets);
  const std::int64_t classes = predictions.size(-1);
  task.logits = predictions.view({-1, classes});
  if (options.class_weights.defined()) {
    if (options.class_weights.numel() != classes) {
      throw_invalid_argument(
          "cross-entropy: class_weights have {} entries, but predictions of shape {} have {} classes",
          options.class_weights.numel(), shape_string(predictions.sizes()), classes);
    }
    task.class_weights = options.class_weights.to(predictions.device());
  }
  task.label_smoothing = options.label_smoothing;
  task.ignore_index = options.ignore_index;
  task.probe = request.probe;
  task.scale = request.scale;
  task.key = request.key;
  return task;
}

}  // namespace

CrossEntropy::CrossEntropy(CrossEntropyOptions options) : options_(std::move(options)) {
  const double smoothing = options_.label_smoothing;
  if (!(smoothing >= 0.0 && smoothing < 1.0)) {
    throw_invalid_argument("cross-entropy: label_smoothing is {}; expected a number from 0 to below 1", smoothing);
  }
  options_.class_weights = checked_weights(options_.class_weights);
}

bool CrossEntropy::supports(Probe /*probe*/) const { return true; }

void CrossEntropy::compute(const torch::Tensor& predictions, const torch::Tensor& targets, const ProbeRequest& request,
                           Evaluation& out) const {
  const ops::CrossEntropyTask task = make_task(options_, predictions, targets, request);
  if (request.probe == Probe::imitation && task.logits.size(1) == 2) {
    TORCH_WARN_ONCE(
        "cross-entropy: with two classes the imitation probe is exactly 0, and LEHI becomes momentum with rate "
        "lr / sqrt(eps): use lehi::BinaryCrossEntropy on one logit, or another probe");
  }
  const auto run = predictions.is_cpu() ? ops::cross_entropy : ops::cross_entropy_plain;
  const torch::Tensor probe = out.probe.defined() ? out.probe.view(task.logits.sizes()) : torch::Tensor();
  const kernels::CrossEntropyResult result = run(task, out.gradient.view(task.logits.sizes()), probe);
  if (!result.finite) check_finite(name(), predictions);
  out.sum = result.sum;
  out.count = result.count;
}

torch::Tensor CrossEntropy::second_derivatives(const torch::Tensor& predictions, const torch::Tensor& targets) const {
  const auto [values, aims] = checked_inputs(*this, predictions, targets);
  ProbeRequest request;
  request.probe = Probe::diagonal;
  return evaluate(values, aims, request).probe.square();
}

torch::Tensor CrossEntropy::hessian(const torch::Tensor& predictions, const torch::Tensor& targets) const {
  const torch::NoGradGuard no_grad;
  const auto [values, aims] = checked_inputs(*this, predictions, targets);
  const torch::Tensor diagonal = second_derivatives(values, aims).view({-1, values.size(-1)});
  const ops::CrossEntropyTask task = make_task(options_, values, aims, {});
  const torch::Tensor c = ops::weighted_targets(task).sum(-1).view({-1, 1, 1});
  const torch::Tensor s = torch::softmax(task.logits, -1, torch::kFloat64);
  torch::Tensor result = (-c * s.unsqueeze(2) * s.unsqueeze(1)).to(values.dtype());
  result.diagonal(0, 1, 2).copy_(diagonal);  // s (1 - s) without cancellation
  return result;
}

}  // namespace lehi
