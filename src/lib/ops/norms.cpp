#include "ops/norms.h"

#include <limits>

#include "ops/parallel.h"

namespace lehi::ops {

kernels::Norms norms(const torch::Tensor& tensor) {
  const torch::NoGradGuard no_grad;
  auto values = tensor.detach();
  const auto dtype = values.scalar_type();
  if (!values.device().is_cpu() || !values.is_contiguous() || (dtype != torch::kFloat32 && dtype != torch::kFloat64)) {
    values = values.to(torch::kCPU, torch::promote_types(dtype, torch::kFloat32)).contiguous();
  }
  const std::int64_t size = values.numel();
  if (values.scalar_type() == torch::kFloat32) return kernels::norms(values.data_ptr<float>(), size, at_parallel_for());
  return kernels::norms(values.data_ptr<double>(), size, at_parallel_for());
}

bool is_within(const torch::Tensor& tensor, double limit) {
  if (tensor.is_cpu() && tensor.is_contiguous()) {
    const std::int64_t size = tensor.numel();
    if (tensor.scalar_type() == torch::kFloat32) {
      return kernels::is_within(tensor.data_ptr<float>(), size, limit, at_parallel_for());
    }
    if (tensor.scalar_type() == torch::kFloat64) {
      return kernels::is_within(tensor.data_ptr<double>(), size, limit, at_parallel_for());
    }
  }
  const kernels::Norms found = norms(tensor);
  return found.finite && found.largest <= limit;
}

bool is_finite(const torch::Tensor& tensor) { return is_within(tensor, std::numeric_limits<double>::max()); }

}  // namespace lehi::ops
