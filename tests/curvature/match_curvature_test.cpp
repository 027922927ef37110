// How an optimizer's kept curvature compares with the true Gauss-Newton diagonal: perfect where the probe is exact,
// close where it is unbiased, and visibly off where it is neither.
#include <gtest/gtest.h>

#include <cmath>

#include "curvature/small_network.h"
#include "lehi/lehi.h"

namespace lehi::testing {
namespace {

// Each weight meets one row only: no cross terms, so every draw of the probe gives the diagonal itself. A linear model,
// so that the diagonal stays where it is while the weights move.
TEST(MatchCurvature, IsOneWhereTheProbeIsExact) {
  const auto scales = torch::tensor({0.5, 1.0, 2.0, 4.0}, torch::kFloat64);
  const auto y = torch::tensor({1.0, -1.0, 0.5, 0.0}, torch::kFloat64);
  for (const auto scale : {Scale::mean, Scale::sqrt_n}) {
    const auto w = torch::ones({4}, torch::kFloat64).requires_grad_(true);
    LehiGn optimizer(std::vector<torch::Tensor>{w}, LehiGnOptions(0.01).mix(Mix::none).scale(scale));
    for (int step = 0; step < 5; ++step) optimizer.step(w * scales, MeanSquaredError(), y);
    const auto match = match_curvature(optimizer, w * scales, MeanSquaredError(), y);
    ASSERT_EQ(match.size(), 1U);
    EXPECT_NEAR(match[0].ratio, 1.0, 1e-12);
    EXPECT_NEAR(match[0].cosine, 1.0, 1e-12);
  }
}

TEST(MatchCurvature, HoldsForThePapersRunningSumToo) {
  const auto scales = torch::tensor({0.5, 1.0, 2.0, 4.0}, torch::kFloat64);
  const auto y = torch::zeros({4}, torch::kFloat64);
  const auto w = torch::ones({4}, torch::kFloat64).requires_grad_(true);
  Lehi optimizer(std::vector<torch::Tensor>{w}, LehiOptions(0.01).refresh_every(3));
  for (int step = 0; step < 5; ++step) optimizer.step(w * scales, MeanSquaredError(), y);
  const auto match = match_curvature(optimizer, w * scales, MeanSquaredError(), y);
  EXPECT_NEAR(match[0].ratio, 1.0, 1e-12);
  EXPECT_NEAR(match[0].cosine, 1.0, 1e-12);
}

// lr = 0 keeps the diagonal where it is; 2,000 draws at b2 = 0.999 weigh like more than 1,500 independent ones, and s^2
// of a random-sign sum has at most a standard deviation of sqrt(2) times its mean: 5 of 0.037 is 0.18.
TEST(MatchCurvature, ApproachesOneForTheGaussNewtonProbe) {
  const SmallNetwork network(3);
  const auto y = torch::tensor({2, 0, 1, 2, 0}, torch::kInt64);
  const std::vector<torch::Tensor> body{network.parameters[0], network.parameters[1]};
  const std::vector<torch::Tensor> head{network.parameters[2], network.parameters[3]};
  Optimizer optimizer(std::vector<torch::optim::OptimizerParamGroup>{{body}, {head}},
                      LehiGnOptions(0.0).mix(Mix::none).refresh_every(1));
  for (int step = 0; step < 2000; ++step) optimizer.step(network.predict(), CrossEntropy(), y);
  const auto match = match_curvature(optimizer, network.predict(), CrossEntropy(), y);
  ASSERT_EQ(match.size(), 2U);
  for (const auto& group : match) {
    EXPECT_NEAR(group.ratio, 1.0, 0.18);
    EXPECT_GT(group.cosine, 0.98);
  }
}

// The imitation vector of cross-entropy vanishes at equal logits, where the true curvature does not.
TEST(MatchCurvature, ShowsTheHoleOfTheImitationProbeAtEqualLogits) {
  const auto w = torch::zeros({3, 2}, torch::kFloat64).requires_grad_(true);
  const auto x = torch::tensor({{1.0, 2.0}, {-1.0, 0.5}}, torch::kFloat64);
  const auto y = torch::tensor({0, 2}, torch::kInt64);
  Lehi optimizer(std::vector<torch::Tensor>{w}, LehiOptions(0.0));
  optimizer.step(x.matmul(w.t()), CrossEntropy(), y);
  const auto match = match_curvature(optimizer, x.matmul(w.t()), CrossEntropy(), y);
  EXPECT_NEAR(match[0].ratio, 0.0, 1e-12);
}

}  // namespace
}  // namespace lehi::testing
