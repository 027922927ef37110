// Turning into bases and back, factors, and the next basis against a complete decomposition.
#include "ops/kronecker.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/support.h"

namespace lehi::ops {
namespace {

using lehi::testing::relative_difference;
using torch::Tensor;

Tensor random_matrix(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  torch::manual_seed(seed);
  return torch::randn({rows, columns}, torch::kFloat64);
}

Tensor random_basis(std::int64_t side, std::uint64_t seed) {
  return std::get<0>(at::linalg_qr(random_matrix(side, side, seed))).contiguous();
}

/// Q diag(values) Q^T.
Tensor with_spectrum(const Tensor& basis, const std::vector<double>& values) {
  return basis.matmul(torch::diag(torch::tensor(values, torch::kFloat64))).matmul(basis.t());
}

double distance_from_identity(const Tensor& matrix) {
  return (matrix - torch::eye(matrix.size(0), matrix.options())).abs().max().item<double>();
}

/// As one block.
Tensor whole(const Tensor& matrix) { return matrix.defined() ? matrix.unsqueeze(0) : matrix; }

/// The next basis of a factor of one block.
Basis next_whole(const Tensor& factor, const Tensor& old) {
  Basis basis = next_basis(whole(factor), whole(old));
  if (basis.vectors.defined()) basis.vectors = basis.vectors[0];
  return basis;
}

/// How far the columns of two bases are apart, whatever their signs.
double angle(const Tensor& a, const Tensor& b) { return distance_from_identity(a.t().matmul(b).abs()); }

TEST(Kronecker, TurningIsTwoProductsAndBackIsTheInverse) {
  const Tensor x = random_matrix(3, 5, 1);
  const Tensor left = random_basis(3, 2);
  const Tensor right = random_basis(5, 3);
  const Tensor none;
  for (const Tensor& l : {left, none}) {
    for (const Tensor& r : {right, none}) {
      Tensor expected = torch::zeros({3, 5}, torch::kFloat64);
      for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 5; ++j) {
          double sum = 0.0;
          for (int a = 0; a < 3; ++a) {
            for (int b = 0; b < 5; ++b) {
              const double of_left = l.defined() ? l[a][i].item<double>() : double(a == i);
              const double of_right = r.defined() ? r[b][j].item<double>() : double(b == j);
              sum += of_left * x[a][b].item<double>() * of_right;
            }
          }
          expected[i][j] = sum;
        }
      }
      const Tensor turned = turn(x, whole(l), whole(r));
      EXPECT_LE(relative_difference(turned, expected), 1e-14);
      EXPECT_LE(relative_difference(turn_back(turned, whole(l), whole(r)), x), 1e-14);
    }
  }
}

TEST(Kronecker, AFactorTakesTheProductWithTheTransposed) {
  const Tensor x = random_matrix(3, 5, 4);
  const Tensor old = random_matrix(3, 3, 5);
  const Tensor factor = old.clone();
  add_to_factor(whole(factor), x, 0.75, 0.5);
  Tensor expected = torch::zeros({3, 3}, torch::kFloat64);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) expected[i][j] = 0.75 * old[i][j] + 0.5 * (x[i] * x[j]).sum();
  }
  EXPECT_LE(relative_difference(factor, expected), 1e-15);
  const Tensor right = torch::zeros({5, 5}, torch::kFloat64);
  add_to_factor(whole(right), x.t(), 0.0, 1.0);
  EXPECT_LE(relative_difference(right, x.t().matmul(x)), 1e-15);
}

TEST(Kronecker, TheFirstBasisHasTheEigenvectorsByFallingEigenvalue) {
  const Tensor truth = random_basis(5, 6);
  const Tensor factor = with_spectrum(truth, {9.0, 5.0, 2.0, 0.5, 0.0});
  const Basis basis = next_whole(factor, {});
  EXPECT_FALSE(basis.order.defined());
  EXPECT_LE(distance_from_identity(basis.vectors.t().matmul(basis.vectors)), 1e-14);
  EXPECT_LE(angle(basis.vectors, truth), 1e-13);
}

// The slowest vector converges like (2/3)^n: after 80 iterations 1e-14.
TEST(Kronecker, IterationsConvergeToTheEigenvectors) {
  const Tensor truth = random_basis(5, 7);
  const Tensor factor = with_spectrum(truth, {9.0, 6.0, 3.0, 2.0, 1.0});
  Basis basis{.vectors = random_basis(5, 8)};
  double previous = angle(basis.vectors, truth);
  ASSERT_GT(previous, 0.1);
  for (int i = 0; i < 80; ++i) basis = next_whole(factor, basis.vectors);
  EXPECT_LE(distance_from_identity(basis.vectors.t().matmul(basis.vectors)), 1e-14);
  EXPECT_LE(angle(basis.vectors, truth), 1e-12);
  EXPECT_TRUE(torch::equal(basis.order, torch::arange(5))) << "once sorted, it stays so";
}

TEST(Kronecker, OneIterationIsTheQrOfTheProductInFallingOrder) {
  const Tensor factor = with_spectrum(random_basis(4, 9), {4.0, 3.0, 2.0, 1.0});
  const Tensor old = random_basis(4, 10);
  const Basis basis = next_whole(factor, old);
  const Tensor estimates = torch::diagonal(old.t().matmul(factor).matmul(old));
  const Tensor sorted = estimates.index_select(0, basis.order);
  for (int i = 0; i + 1 < 4; ++i) EXPECT_GE(sorted[i].item<double>(), sorted[i + 1].item<double>());
  // QR: the first k columns span those of the product, in order; so vectors^T product is upper triangular.
  const Tensor product = factor.matmul(old).index_select(1, basis.order);
  EXPECT_LE(torch::tril(basis.vectors.t().matmul(product), -1).abs().max().item<double>(), 1e-14);
  EXPECT_LE(distance_from_identity(basis.vectors.t().matmul(basis.vectors)), 1e-14);
}

TEST(Kronecker, VectorsInRisingOrderAreSortedAtOnce) {
  const Tensor truth = random_basis(3, 11);
  const Tensor factor = with_spectrum(truth, {3.0, 2.0, 1.0});
  const Basis basis = next_whole(factor, truth.flip({1}).contiguous());
  EXPECT_TRUE(torch::equal(basis.order, torch::tensor({2, 1, 0})));
  EXPECT_LE(angle(basis.vectors, truth), 1e-14);
}

// Above 1,024 the first basis is one iteration from the identity.
TEST(Kronecker, TheFirstBasisOfALargeFactorIsItsQr) {
  torch::manual_seed(12);
  const Tensor x = torch::randn({1025, 8});
  const Tensor factor = x.matmul(x.t()) + torch::eye(1025);
  const Basis basis = next_whole(factor, {});
  EXPECT_FALSE(basis.order.defined());
  EXPECT_LE(distance_from_identity(basis.vectors.t().matmul(basis.vectors)), 1e-5);
  const Tensor r = basis.vectors.t().matmul(factor);
  EXPECT_LE(torch::tril(r, -1).norm().item<double>(), 1e-5 * r.norm().item<double>());
}

// Blocks are the matrix that has them on its diagonal and zeros elsewhere.
TEST(Kronecker, BlocksAreABlockDiagonalMatrix) {
  const Tensor left = torch::stack({random_basis(2, 20), random_basis(2, 21), random_basis(2, 22)});
  const Tensor right = torch::stack({random_basis(4, 23), random_basis(4, 24)});
  const auto dense = [](const Tensor& blocks) { return torch::block_diag(blocks.unbind()); };
  const Tensor x = random_matrix(6, 8, 25);
  const Tensor turned = turn(x, left, right);
  EXPECT_LE(relative_difference(turned, dense(left).t().matmul(x).matmul(dense(right))), 1e-14);
  EXPECT_LE(relative_difference(turn_back(turned, left, right), x), 1e-14);

  const Tensor factor = torch::zeros({3, 2, 2}, torch::kFloat64);
  add_to_factor(factor, x, 0.0, 1.0);
  const Tensor product = x.matmul(x.t());
  for (int i = 0; i < 3; ++i) {
    const Tensor block = product.slice(0, 2 * i, 2 * i + 2).slice(1, 2 * i, 2 * i + 2);
    EXPECT_LE(relative_difference(factor[i], block), 1e-14);
  }
  const Basis first = next_basis(factor, {});
  const Basis second = next_basis(factor, left);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(first.vectors[i], next_whole(factor[i], {}).vectors));
    const Basis alone = next_whole(factor[i], left[i]);
    EXPECT_TRUE(torch::equal(second.vectors[i], alone.vectors));
    EXPECT_TRUE(torch::equal(second.order.slice(0, 2 * i, 2 * i + 2), alone.order + 2 * i));
  }
}

Tensor lapack(const Tensor& symmetric) { return std::get<1>(at::linalg_eigh(symmetric)); }

// LAPACK's solver fails with no finite matrix that we tried (720 of low rank, of one value, of signs, with eigenvalues
// from 1e-45 to 1, scaled by 1e-45 to 3e38), so a solver here fails in float32.
TEST(Kronecker, AFailedDecompositionIsTriedAgainInFloat64) {
  torch::manual_seed(26);
  const Tensor x = torch::randn({6, 9});
  const Tensor factor = x.matmul(x.t());
  const Tensor expected = lapack(factor.to(torch::kFloat64)).flip({1});
  const auto throws = [](const Tensor& symmetric) -> Tensor {
    TORCH_CHECK_LINALG(symmetric.scalar_type() != torch::kFloat32, "failed to converge");
    return lapack(symmetric);
  };
  const auto breaks = [](const Tensor& symmetric) {
    Tensor vectors = lapack(symmetric);
    if (symmetric.scalar_type() == torch::kFloat32) vectors[2][3] = std::numeric_limits<float>::quiet_NaN();
    return vectors;
  };
  for (const EigenSolver& solver : {EigenSolver(throws), EigenSolver(breaks)}) {
    const Tensor basis = eigenbasis(factor, solver);
    EXPECT_EQ(basis.scalar_type(), torch::kFloat32);
    EXPECT_TRUE(basis.is_contiguous());
    EXPECT_LE(angle(basis.to(torch::kFloat64), expected), 1e-6);  // float32 rounds to 6e-8
  }
}

TEST(Kronecker, ADecompositionThatFailsTwiceIsOneSentence) {
  int calls = 0;
  double ridge = 0.0;
  const Tensor factor = 2.0 * torch::eye(4);
  const auto fails = [&](const Tensor& symmetric) {
    ridge = symmetric[0][0].item<double>() - 2.0;
    ++calls;
    return torch::full_like(symmetric, std::numeric_limits<double>::infinity());
  };
  EXPECT_EQ(lehi::testing::message_of([&] { eigenbasis(factor, fails); }),
            "the eigenvectors of a Kronecker factor of 4 x 4 can't be computed, not in float64 either: keep this "
            "parameter diagonal (ShapeRules), or set largest_side to at most 3");
  EXPECT_EQ(calls, 2);
  EXPECT_NEAR(ridge, 2e-10, 1e-15);
}

TEST(Kronecker, AFactorThatIsNotFiniteHasNoBasis) {
  Tensor factor = torch::eye(3, torch::kFloat64);
  factor[1][2] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(next_whole(factor, {}).vectors.defined());
  EXPECT_FALSE(next_whole(factor, torch::eye(3, torch::kFloat64)).vectors.defined());
}

}  // namespace
}  // namespace lehi::ops
