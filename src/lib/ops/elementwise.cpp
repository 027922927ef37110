#include "ops/elementwise.h"

#include <ATen/Dispatch.h>

#include "ops/parallel.h"

namespace lehi::ops {

kernels::ElementwiseResult elementwise(const kernels::ElementwiseFormula& formula, const ElementwiseTask& task,
                                       const torch::Tensor& gradient, const torch::Tensor& probe) {
  kernels::ElementwiseResult result;
  AT_DISPATCH_FLOATING_TYPES(task.predictions.scalar_type(), "elementwise", [&] {
    const kernels::ElementwiseBatch<scalar_t> batch{.predictions = task.predictions.data_ptr<scalar_t>(),
                                                    .targets = task.targets.data_ptr<scalar_t>(),
                                                    .u = gradient.data_ptr<scalar_t>(),
                                                    .v = probe.defined() ? probe.data_ptr<scalar_t>() : nullptr,
                                                    .size = task.predictions.numel(),
                                                    .outputs = task.outputs,
                                                    .probe = task.probe,
                                                    .key = task.key};
    result = kernels::elementwise(formula, batch, at_parallel_for());
  });
  return result;
}

torch::Tensor elementwise_second(const kernels::ElementwiseFormula& formula, const torch::Tensor& predictions,
                                 const torch::Tensor& targets) {
  torch::Tensor result = torch::empty_like(predictions);
  AT_DISPATCH_FLOATING_TYPES(predictions.scalar_type(), "elementwise_second", [&] {
    kernels::elementwise_second(formula, predictions.data_ptr<scalar_t>(), targets.data_ptr<scalar_t>(),
                                predictions.numel(), result.data_ptr<scalar_t>());
  });
  return result;
}

}  // namespace lehi::ops
