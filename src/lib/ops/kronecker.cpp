#include "ops/kronecker.h"

#include <ATen/Functions.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <vector>

#include "ops/norms.h"

namespace lehi::ops {

using torch::Tensor;

namespace {

// The product of each block of rows (side 0) or columns (side 1) with its basis or the basis's transpose.
Tensor times_basis(const Tensor& matrix, const Tensor& basis, std::int64_t side, bool back) {
  Tensor result = torch::empty_like(matrix, torch::MemoryFormat::Contiguous);
  const std::int64_t length = basis.size(1);
  for (std::int64_t i = 0; i < basis.size(0); ++i) {
    Tensor out = result.narrow(side, i * length, length);
    const Tensor in = matrix.narrow(side, i * length, length);
    const Tensor vectors = (side == 0) == back ? basis[i] : basis[i].t();
    side == 0 ? at::mm_out(out, vectors, in) : at::mm_out(out, in, vectors);
  }
  return result;
}

Tensor orthonormal(const Tensor& matrix) { return std::get<0>(at::linalg_qr(matrix)).contiguous(); }

Tensor lapack_eigenvectors(const Tensor& symmetric) { return std::get<1>(at::linalg_eigh(symmetric)); }

// Undefined where the solver fails.
Tensor eigenvectors(const Tensor& symmetric, const EigenSolver& solver) {
  try {
    const Tensor vectors = solver(symmetric);
    return is_finite(vectors) ? vectors : Tensor();
  } catch (const c10::LinAlgError&) {
    return {};
  }
}

// The next basis of one block, and the order of its old vectors.
Basis next_block(const Tensor& factor, const Tensor& old) {
  constexpr std::int64_t complete_limit = 1024;
  if (!old.defined() && factor.size(0) > complete_limit) return {orthonormal(factor), {}};
  if (!old.defined()) return {eigenbasis(factor, lapack_eigenvectors), {}};
  const Tensor product = torch::mm(factor, old);
  const Tensor order = (old * product).sum(0).argsort(/*stable=*/true, /*dim=*/-1, /*descending=*/true);
  return {orthonormal(product.index_select(1, order)), order};
}

}  // namespace

Tensor turn(const Tensor& matrix, const Tensor& left_basis, const Tensor& right_basis) {
  Tensor result = matrix;
  if (left_basis.defined()) result = times_basis(result, left_basis, 0, false);
  if (right_basis.defined()) result = times_basis(result, right_basis, 1, false);
  return result;
}

Tensor turn_back(const Tensor& turned, const Tensor& left_basis, const Tensor& right_basis) {
  Tensor result = turned;
  if (left_basis.defined()) result = times_basis(result, left_basis, 0, true);
  if (right_basis.defined()) result = times_basis(result, right_basis, 1, true);
  return result;
}

void add_to_factor(const Tensor& factor, const Tensor& matrix, double decay, double gain) {
  const std::int64_t length = factor.size(1);
  for (std::int64_t i = 0; i < factor.size(0); ++i) {
    const Tensor block = matrix.narrow(0, i * length, length);
    factor[i].addmm_(block, block.t(), decay, gain);
  }
}

Tensor eigenbasis(const Tensor& block, const EigenSolver& solver) {
  Tensor vectors = eigenvectors(block, solver);
  if (!vectors.defined()) {
    const Tensor wide = block.to(torch::kFloat64);
    const Tensor ridge = 1e-10 * wide.diagonal().mean() * torch::eye(wide.size(0), wide.options());
    vectors = eigenvectors(wide + ridge, solver);
  }
  if (!vectors.defined()) {
    throw DecompositionError(fmt::format(
        "the eigenvectors of a Kronecker factor of {0} x {0} can't be computed, not in float64 either: keep this "
        "parameter diagonal (ShapeRules), or set largest_side to at most {1}",
        block.size(0), block.size(0) - 1));
  }
  return vectors.to(block.scalar_type()).flip({1}).contiguous();
}

Basis next_basis(const Tensor& factor, const Tensor& old) {
  if (!is_finite(factor)) return {};
  std::vector<Tensor> vectors;
  std::vector<Tensor> orders;
  for (std::int64_t i = 0; i < factor.size(0); ++i) {
    const Basis next = next_block(factor[i], old.defined() ? old[i] : Tensor());
    vectors.push_back(next.vectors);
    if (next.order.defined()) orders.push_back(next.order + i * factor.size(1));
  }
  return {torch::stack(vectors), orders.empty() ? Tensor() : torch::cat(orders)};
}

}  // namespace lehi::ops
