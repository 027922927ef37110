// Newton-Schulz against the singular value decomposition: the same singular vectors, and singular values near 1.
#include "ops/orthogonal.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/support.h"

namespace lehi::ops {
namespace {

using lehi::testing::relative_difference;
using torch::Tensor;

Tensor with_orthonormal_columns(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  torch::manual_seed(seed);
  return std::get<0>(at::linalg_qr(torch::randn({rows, columns}, torch::kFloat64)));
}

// What five steps make of a singular value of a matrix of Frobenius norm 1.
double polynomial(double value) {
  for (int i = 0; i < 5; ++i) value = 3.4445 * value - 4.775 * std::pow(value, 3) + 2.0315 * std::pow(value, 5);
  return value;
}

struct Decomposed {
  Tensor u;
  Tensor values;
  Tensor v;
  Tensor matrix() const { return u.matmul(torch::diag(values)).matmul(v.t()); }
};

Decomposed decomposed(std::int64_t rows, std::int64_t columns) {
  const std::int64_t rank = std::min(rows, columns);
  return {with_orthonormal_columns(rows, rank, 1), torch::linspace(3.0, 0.3, rank, torch::kFloat64),
          with_orthonormal_columns(columns, rank, 2)};
}

TEST(Orthogonal, KeepsTheSingularVectorsAndBringsTheValuesNear1) {
  for (const auto& [rows, columns] : {std::pair{6, 6}, std::pair{9, 4}, std::pair{4, 9}, std::pair{2, 70}}) {
    SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
    const Decomposed parts = decomposed(rows, columns);
    const Tensor result = orthogonal(parts.matrix());
    ASSERT_EQ(result.sizes(), parts.matrix().sizes());
    const Tensor core = parts.u.t().matmul(result).matmul(parts.v);
    const double norm = parts.values.norm().item<double>();
    for (std::int64_t i = 0; i < core.size(0); ++i) {
      const double value = core[i][i].item<double>();
      EXPECT_NEAR(value, polynomial(parts.values[i].item<double>() / norm), 1e-12);
      EXPECT_GT(value, 0.68);
      EXPECT_LT(value, 1.14);
    }
    EXPECT_LE((core - torch::diag(torch::diagonal(core))).abs().max().item<double>(), 1e-12);
    EXPECT_LE(relative_difference(parts.u.matmul(core).matmul(parts.v.t()), result), 1e-13) << "nothing outside";
  }
}

// The range that the header promises. Of a matrix of norm 1 with singular values x and sqrt(1 - x^2).
TEST(Orthogonal, EndsInItsRangeFromEverySingularValue) {
  const Tensor values = torch::logspace(-6.0, 0.0, 3001, 10.0, torch::kFloat64);
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    const double x = values[i].item<double>();
    const Tensor matrix = torch::diag(torch::tensor({x, std::sqrt(1.0 - x * x)}, torch::kFloat64));
    const double result = orthogonal(matrix)[0][0].item<double>();
    if (x >= 0.0015) {
      ASSERT_GT(result, 0.67) << x;
      ASSERT_LT(result, 1.21) << x;
    } else {
      ASSERT_GT(result, 0.0) << x;
      ASSERT_LE(result, 485.0 * x) << x;
      ASSERT_LT(result, 0.69) << x;
    }
  }
}

TEST(Orthogonal, DoesNotDependOnTheScale) {
  const Tensor matrix = decomposed(5, 7).matrix();
  const Tensor expected = orthogonal(matrix);
  for (const double scale : {1e-6, 0.5, 1e10}) {
    EXPECT_LE(relative_difference(orthogonal(matrix * scale), expected), 1e-11) << scale;
  }
  EXPECT_LE(relative_difference(orthogonal(-matrix), -expected), 1e-15);
}

TEST(Orthogonal, OfATransposedIsTheTransposed) {
  const Tensor matrix = decomposed(4, 7).matrix();
  EXPECT_LE(relative_difference(orthogonal(matrix.t()), orthogonal(matrix).t()), 1e-13);
}

TEST(Orthogonal, OfARowIsItsDirection) {
  const Tensor row = torch::tensor({{3.0, 0.0, -4.0}}, torch::kFloat64);
  EXPECT_LE(relative_difference(orthogonal(row), row / 5.0 * polynomial(1.0)), 1e-14);
  EXPECT_LE(relative_difference(orthogonal(row.t()), row.t() / 5.0 * polynomial(1.0)), 1e-14);
}

TEST(Orthogonal, OfZerosIsZero) {
  EXPECT_TRUE(torch::equal(orthogonal(torch::zeros({3, 5})), torch::zeros({3, 5})));
  EXPECT_TRUE(torch::equal(orthogonal(torch::zeros({5, 3})), torch::zeros({5, 3})));
}

TEST(Orthogonal, InFloat32IsTheSameToRounding) {
  const Tensor matrix = decomposed(6, 9).matrix();
  const Tensor result = orthogonal(matrix.to(torch::kFloat32));
  EXPECT_EQ(result.scalar_type(), torch::kFloat32);
  EXPECT_LE(relative_difference(result, orthogonal(matrix)), 1e-4);  // rounding grows like 3.4445^5 = 485
}

}  // namespace
}  // namespace lehi::ops
