#include "ops/kronecker.h"

#include <ATen/Functions.h>

#include "ops/norms.h"

namespace lehi::ops {

using torch::Tensor;

Tensor turn(const Tensor& matrix, const Tensor& left_basis, const Tensor& right_basis) {
  Tensor result = matrix;
  if (left_basis.defined()) result = torch::mm(left_basis.t(), result);
  if (right_basis.defined()) result = torch::mm(result, right_basis);
  return result;
}

Tensor turn_back(const Tensor& turned, const Tensor& left_basis, const Tensor& right_basis) {
  Tensor result = turned;
  if (left_basis.defined()) result = torch::mm(left_basis, result);
  if (right_basis.defined()) result = torch::mm(result, right_basis.t());
  return result;
}

void add_to_factor(const Tensor& factor, const Tensor& matrix, double decay, double gain) {
  factor.addmm_(matrix, matrix.t(), decay, gain);
}

Basis next_basis(const Tensor& factor, const Tensor& old) {
  constexpr std::int64_t complete_limit = 1024;
  const auto orthonormal = [](const Tensor& matrix) { return std::get<0>(at::linalg_qr(matrix)).contiguous(); };
  if (!is_finite(factor)) return {};
  if (!old.defined() && factor.size(0) > complete_limit) return {orthonormal(factor), {}};
  if (!old.defined()) return {std::get<1>(at::linalg_eigh(factor)).flip({1}).contiguous(), {}};
  const Tensor product = torch::mm(factor, old);
  const Tensor order = (old * product).sum(0).argsort(/*stable=*/true, /*dim=*/-1, /*descending=*/true);
  return {orthonormal(product.index_select(1, order)), order};
}

}  // namespace lehi::ops
