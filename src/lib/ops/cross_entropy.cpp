#include "ops/cross_entropy.h"

#include "ops/parallel.h"

namespace lehi::ops {
namespace {

template <class T>
kernels::CrossEntropyBatch<T> batch_of(const CrossEntropyTask& task, const torch::Tensor& gradient,
                                       const torch::Tensor& probe) {
  return {.logits = task.logits.data_ptr<T>(),
          .rows = task.logits.size(0),
          .classes = task.logits.size(1),
          .indices = task.has_indices() ? task.targets.data_ptr<std::int64_t>() : nullptr,
          .probabilities = task.has_indices() ? nullptr : task.targets.data_ptr<T>(),
          .class_weights = task.class_weights.defined() ? task.class_weights.data_ptr<double>() : nullptr,
          .label_smoothing = task.label_smoothing,
          .ignore_index = task.ignore_index,
          .probe = task.probe,
          .scale = task.scale,
          .key = task.key,
          .u = gradient.data_ptr<T>(),
          .v = task.probe == Probe::gradient ? nullptr : probe.data_ptr<T>()};
}

}  // namespace

kernels::CrossEntropyResult cross_entropy(const CrossEntropyTask& task, const torch::Tensor& gradient,
                                          const torch::Tensor& probe) {
  if (task.logits.scalar_type() == torch::kFloat32) {
    return kernels::cross_entropy(batch_of<float>(task, gradient, probe), at_parallel_for());
  }
  return kernels::cross_entropy(batch_of<double>(task, gradient, probe), at_parallel_for());
}

}  // namespace lehi::ops
