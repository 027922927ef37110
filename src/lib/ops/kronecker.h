// The products of the kronecker shape: Kronecker factors, their eigenbases, and turning a matrix into them and back.
//
// A matrix X [m, n] is turned by Q_L and Q_R, whose columns are the vectors of a basis: X' = Q_L^T X Q_R. Factors and
// bases are the equal blocks on the diagonal of a matrix, [blocks, length, length]; usually there is one, [1, m, m]. An
// undefined basis is the identity, and costs nothing.
#pragma once

#include <torch/types.h>

#include <functional>
#include <stdexcept>

namespace lehi::ops {

torch::Tensor turn(const torch::Tensor& matrix, const torch::Tensor& left_basis, const torch::Tensor& right_basis);
torch::Tensor turn_back(const torch::Tensor& turned, const torch::Tensor& left_basis, const torch::Tensor& right_basis);

/// factor <- decay factor + gain matrix matrix^T, in the factor's blocks; for the right side give the transposed
/// matrix.
void add_to_factor(const torch::Tensor& factor, const torch::Tensor& matrix, double decay, double gain);

struct Basis {
  torch::Tensor vectors;  ///< undefined where the factor is not finite
  torch::Tensor order;    ///< of each block, the old vectors by falling eigenvalue, counted from the first block's
                          ///< first; undefined where there were none
};

/// The eigenbasis of each block of a factor, by falling eigenvalue: one step of orthogonal iteration from the old
/// basis, whose vectors are sorted, multiplied by the factor and made orthonormal (QR). Without an old basis it comes
/// from a complete decomposition, or, where that would take many seconds (lengths above 1,024), from orthogonal
/// iteration, too.
/// Throws DecompositionError where eigenbasis() does.
Basis next_basis(const torch::Tensor& factor, const torch::Tensor& old);

/// The message is one sentence, without the parameter's name.
class DecompositionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The eigenvectors of a symmetric matrix as columns, by rising eigenvalue. Where it fails, it throws c10::LinAlgError
/// or returns numbers that are not finite.
using EigenSolver = std::function<torch::Tensor(const torch::Tensor& symmetric)>;

/// The complete decomposition of one finite block: its eigenvectors by falling eigenvalue. Where the solver fails, it
/// is asked again in float64 with a ridge on the diagonal, 1e-10 of the mean eigenvalue, which leaves the vectors as
/// they are. Throws DecompositionError where that fails, too. The solver is LAPACK's but in tests: no finite matrix is
/// known with which it fails.
torch::Tensor eigenbasis(const torch::Tensor& block, const EigenSolver& solver);

}  // namespace lehi::ops
