// The Gauss-Newton diagonal against a dense J^T H J built with torch alone, and the random probes' E[s^2] against the
// Gauss-Newton diagonal: unbiased within sampling error at a stated level.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "curvature/small_network.h"
#include "lehi/lehi.h"
#include "support/support.h"

namespace lehi::testing {
namespace {

// A loss with torch's own value beside it.
struct Case {
  std::string name;
  SmallNetwork network;
  std::shared_ptr<const Loss> loss;
  torch::Tensor targets;
  std::function<torch::Tensor(const torch::Tensor&)> value;

  torch::Tensor dense_diagonal() const {
    const auto p = network.predict();
    const auto jacobian = dense_jacobian(p, network.parameters);
    return (jacobian * dense_hessian(p, value).matmul(jacobian)).sum(0);
  }
};

Case mse() {
  const auto y = torch::linspace(-1, 1, 10, torch::kFloat64).view({5, 2});
  return {"mse", SmallNetwork(2), std::make_shared<MeanSquaredError>(), y,
          [y](const torch::Tensor& p) { return (p - y).square().sum() / 10.0; }};
}

Case bce() {
  const auto y = torch::tensor({1, 0, 1, 1, 0}, torch::kFloat64).view({5, 1});
  return {"bce", SmallNetwork(1), std::make_shared<BinaryCrossEntropy>(), y,
          [y](const torch::Tensor& p) { return torch::binary_cross_entropy_with_logits(p, y); }};
}

Case cross_entropy() {
  const auto y = torch::tensor({2, 0, 1, 2, 0}, torch::kInt64);
  return {"cross-entropy", SmallNetwork(3), std::make_shared<CrossEntropy>(), y,
          [y](const torch::Tensor& p) { return torch::cross_entropy_loss(p, y); }};
}

Case weighted_cross_entropy() {
  const auto y = torch::tensor({2, 0, 1, -1, 0, 2}, torch::kInt64);
  const auto weights = torch::tensor({0.5, 3.0, 1.25}, torch::kFloat64);
  return {"cross-entropy, class weights, an ignored row", SmallNetwork(3, 6),
          std::make_shared<CrossEntropy>(CrossEntropyOptions{.class_weights = weights, .ignore_index = -1}), y,
          [y, weights](const torch::Tensor& p) {
            return torch::cross_entropy_loss(p, y, weights, torch::Reduction::Mean, -1);
          }};
}

Case poisson() {
  const auto y = torch::tensor({1, 0, 3, 2, 0}, torch::kFloat64).view({5, 1});
  return {"poisson-nll", SmallNetwork(1), std::make_shared<PoissonNll>(), y,
          [y](const torch::Tensor& p) { return (p.exp() - y * p).sum() / 5.0; }};
}

TEST(GaussNewton, DiagonalEqualsTheDenseProduct) {
  for (const auto& test : {mse(), bce(), cross_entropy(), weighted_cross_entropy(), poisson()}) {
    SCOPED_TRACE(test.name);
    const auto p = test.network.predict();
    const auto diagonal = gauss_newton_diagonal(p, *test.loss, test.targets, test.network.parameters);
    ASSERT_EQ(diagonal.size(), test.network.parameters.size());
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
      EXPECT_EQ(diagonal[i].sizes(), test.network.parameters[i].sizes());
    }
    EXPECT_LE(relative_difference(flattened(diagonal), test.dense_diagonal()), 1e-12);
    EXPECT_NO_THROW(p.sum().backward()) << "the graph is kept";
  }
}

TEST(GaussNewton, NegativeCurvatureIsRefused) {
  const SmallNetwork network(1);
  const auto targets = torch::tensor({1, 0, 1, 1, 0}, torch::kFloat64).view({5, 1});
  // Far on the wrong side the focal loss is concave.
  const auto p = network.predict() * 0.01 - 6.0 * (2 * targets - 1);
  EXPECT_THROW(gauss_newton_diagonal(p, Focal(), targets, network.parameters), std::invalid_argument);
}

TEST(GaussNewton, PullBackIsTheJacobianTimesTheScaledProbe) {
  for (const auto& test : {mse(), bce(), cross_entropy(), weighted_cross_entropy()}) {
    SCOPED_TRACE(test.name);
    const auto p = test.network.predict();
    const auto jacobian = dense_jacobian(p, test.network.parameters);
    for (const auto probe : all_probes()) {
      if (probe == Probe::gradient) continue;
      for (const auto scale : {Scale::sqrt_n, Scale::mean}) {
        const ProbeRequest request{probe, scale, {5, 3, 0, 0}};
        const auto said = test.loss->evaluate(p, test.targets, request);
        const double divisor = scale == Scale::mean ? said.count : std::sqrt(said.count);
        const auto expected = jacobian.t().matmul(said.probe.reshape(-1)) / divisor;
        const auto s = pull_back_probe(p, *test.loss, test.targets, request, test.network.parameters);
        EXPECT_LE(relative_difference(flattened(s), expected), 1e-12) << name(probe) << " " << name(scale);
      }
    }
  }
}

TEST(GaussNewton, PullBackIsUndefinedWhereAParameterTookNoPart) {
  const SmallNetwork network(2);
  auto parameters = network.parameters;
  parameters.push_back(torch::ones({2}, torch::kFloat64).requires_grad_(true));
  const auto s = pull_back_probe(network.predict(), MeanSquaredError(), torch::zeros({5, 2}, torch::kFloat64),
                                 {Probe::imitation, Scale::sqrt_n, {}}, parameters);
  EXPECT_TRUE(s[0].defined());
  EXPECT_FALSE(s[4].defined());
}

// 4,000 independent draws. Under the hypothesis E[s^2] = truth each z is about normal (4,000 bounded terms); with at
// most 31 weights and 8 runs, |z| < 5.5 fails by chance with probability below 250 * 4e-8 = 1e-5 over the whole test.
constexpr int kDraws = 4000;
constexpr double kLargestZ = 5.5;

void expect_unbiased(const Case& test, Probe probe, Scale scale) {
  SCOPED_TRACE(test.name + ", " + std::string(name(probe)) + ", " + std::string(name(scale)));
  const auto p = test.network.predict();
  auto truth = test.dense_diagonal();
  if (scale == Scale::mean) truth = truth / test.loss->evaluate(p, test.targets).count;
  auto sum = torch::zeros_like(truth);
  auto squares = torch::zeros_like(truth);
  for (std::uint64_t seed = 0; seed < kDraws; ++seed) {
    const ProbeRequest request{probe, scale, {seed, 1, 0, 0}};
    const auto s2 = flattened(pull_back_probe(p, *test.loss, test.targets, request, test.network.parameters)).square();
    sum += s2;
    squares += s2.square();
  }
  const auto mean = sum / kDraws;
  const auto error = ((squares / kDraws - mean.square()).clamp_min(0) / kDraws).sqrt();
  const auto z = (mean - truth) / (error + 1e-13 * truth);  // the last term: probes that do not vary at all
  EXPECT_LT(z.abs().max().item<double>(), kLargestZ);
  // And the test is sharp: an error of 30% in any weight would be seen.
  EXPECT_LT((kLargestZ * error / truth).max().item<double>(), 0.3);
  EXPECT_LT((mean.sum() / truth.sum() - 1).abs().item<double>(), 0.05);
}

TEST(GaussNewton, ProbeIsUnbiasedForTheDiagonal) {
  for (const auto& test : {mse(), bce(), cross_entropy()}) expect_unbiased(test, Probe::gauss_newton, Scale::sqrt_n);
}

TEST(GaussNewton, ProbeIsUnbiasedWithClassWeights) {
  expect_unbiased(weighted_cross_entropy(), Probe::gauss_newton, Scale::sqrt_n);
}

// With `mean`, N s^2 estimates the diagonal of the mean loss when rows weigh the same.
TEST(GaussNewton, ProbeIsUnbiasedWithMeanScale) { expect_unbiased(cross_entropy(), Probe::gauss_newton, Scale::mean); }

// The Fisher matrix of a likelihood is its Gauss-Newton matrix.
TEST(GaussNewton, SampledLabelsAreUnbiasedForTheDiagonal) {
  for (const auto& test : {mse(), bce(), cross_entropy()}) expect_unbiased(test, Probe::sampled_label, Scale::sqrt_n);
}

// What the same statistics say of a probe that is not unbiased: its cross terms between rows and outputs stay.
TEST(GaussNewton, TheStatisticTellsTheImitationProbeApart) {
  const auto test = mse();
  const auto p = test.network.predict();
  const auto s =
      pull_back_probe(p, *test.loss, test.targets, {Probe::imitation, Scale::sqrt_n, {}}, test.network.parameters);
  const auto truth = test.dense_diagonal();
  EXPECT_GT(((flattened(s).square() - truth).abs() / truth).max().item<double>(), 0.3);
}

// One row and one output leave no cross terms: there the imitation probe's s^2 is the Gauss-Newton diagonal exactly.
TEST(GaussNewton, ImitationIsExactForOneRowOfOneOutput) {
  const SmallNetwork network(1, 1);
  const auto p = network.predict();
  const auto y = torch::ones({1, 1}, torch::kFloat64);
  const MeanSquaredError squared_error;
  const BinaryCrossEntropy binary;
  const PoissonNll counts;
  for (const Loss* loss : std::initializer_list<const Loss*>{&squared_error, &binary, &counts}) {
    SCOPED_TRACE(loss->name());
    const auto truth = flattened(gauss_newton_diagonal(p, *loss, y, network.parameters));
    for (const auto probe : {Probe::imitation, Probe::diagonal, Probe::gauss_newton}) {
      const auto s = pull_back_probe(p, *loss, y, {probe, Scale::sqrt_n, {}}, network.parameters);
      EXPECT_LE(relative_difference(flattened(s).square(), truth), 1e-13) << name(probe);
    }
  }
}

}  // namespace
}  // namespace lehi::testing
