// Global-norm clipping of g, and sophia's elementwise clipping as its diagnostics count it.
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

// g of torch's loss, scaled so that its global norm is at most `limit`, into .grad().
double clip_exactly(const Problem& problem, const Weights& weights, std::int64_t step, double limit) {
  for (const auto& weight : weights) weight.mutable_grad() = torch::Tensor();
  problem.value_at(weights, step).backward();
  double squares = 0.0;
  for (const auto& weight : weights) squares += weight.grad().square().sum().item<double>();
  const double norm = std::sqrt(squares);
  if (norm > limit) {
    for (const auto& weight : weights) weight.grad().mul_(limit / norm);
  }
  return norm;
}

TEST(Clipping, AdamWFollowsTorchOnClippedGradients) {
  for_each_problem([](const Problem& problem) {
    const auto weights = fresh(problem.start);
    const auto expected = fresh(problem.start);
    AdamW optimizer(weights, AdamWOptions(0.01).clip_norm(0.3));
    torch::optim::AdamW reference(expected, torch::optim::AdamWOptions(0.01));
    int clipped = 0;
    for (std::int64_t step = 1; step <= 50; ++step) {
      take_step(optimizer, problem, weights, step);
      const double norm = clip_exactly(problem, expected, step, 0.3);
      reference.step();
      const double limit = 10 * tolerance(problem.dtype);
      EXPECT_NEAR(optimizer.report().gradient_norm, norm, limit * norm);
      EXPECT_NEAR(optimizer.report().clip_factor, std::min(1.0, 0.3 / norm), limit);
      if (optimizer.report().clip_factor < 1.0) ++clipped;
    }
    expect_close(weights, flat(expected), tolerance(problem.dtype), 50);
    EXPECT_GT(clipped, 0);
  });
}

// torch divides by norm + 1e-6 instead of norm: with norms above 0.1 that is a relative 1e-5 of the clipped gradient.
TEST(Clipping, AgreesWithTorchsClipGradNorm) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const auto expected = fresh(problem.start);
  AdamW optimizer(weights, AdamWOptions(0.01).clip_norm(0.1));
  torch::optim::AdamW reference(expected, torch::optim::AdamWOptions(0.01));
  for (std::int64_t step = 1; step <= 50; ++step) {
    take_step(optimizer, problem, weights, step);
    reference.zero_grad();
    problem.value_at(expected, step).backward();
    torch::nn::utils::clip_grad_norm_(expected, 0.1);
    reference.step();
  }
  expect_close(weights, flat(expected), 1e-5, 50);
}

TEST(Clipping, SgdMovesByTheClippedNorm) {
  const auto problem = make_problem("least_squares", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Sgd optimizer(weights, SgdOptions(0.5).clip_norm(0.25));
  take_step(optimizer, problem, weights, 1);
  ASSERT_GT(optimizer.report().gradient_norm, 0.25);
  EXPECT_NEAR((weights[0] - problem.start[0]).norm().item<double>(), 0.5 * 0.25, 1e-15);
}

TEST(Clipping, AProbeIsNotClipped) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const auto free = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.01).clip_norm(1e-3));
  Lehi unclipped(free, LehiOptions(0.01));
  take_step(optimizer, problem, weights, 1);
  take_step(unclipped, problem, free, 1);
  const double factor = optimizer.report().clip_factor;
  ASSERT_LT(factor, 1.0);
  for (const std::size_t i : {0, 1, 2, 3}) {
    EXPECT_LE(relative_difference(optimizer.find_state(weights[i])->m, factor * unclipped.find_state(free[i])->m),
              1e-14);
    EXPECT_TRUE(same_bits(optimizer.find_state(weights[i])->v, unclipped.find_state(free[i])->v));
  }
}

TEST(Clipping, SophiaReportsTheFractionOfClippedWeights) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const auto groups = groups_of({{weights[0], weights[1]}, {weights[2], weights[3]}});
  Optimizer optimizer(groups, SophiaGOptions(0.01).rho(30.0).diagnostics(true));
  double lowest = 1.0;
  double highest = 0.0;
  for (std::int64_t step = 1; step <= 20; ++step) {
    take_step(optimizer, problem, weights, step);
    ASSERT_EQ(optimizer.report().groups.size(), 2U);
    for (const std::size_t group : {0, 1}) {
      double clipped = 0.0;
      double all = 0.0;
      for (const auto& parameter : optimizer.param_groups()[group].params()) {
        const auto* state = optimizer.find_state(parameter);
        clipped += (state->m.abs() > 30.0 * problem.count() * state->v + 1e-12).sum().item<double>();
        all += static_cast<double>(parameter.numel());
      }
      EXPECT_DOUBLE_EQ(optimizer.report().groups[group].clip_rate, clipped / all);
      lowest = std::min(lowest, clipped / all);
      highest = std::max(highest, clipped / all);
    }
  }
  EXPECT_LT(lowest, highest) << "the case must show more than one rate";
}

}  // namespace
}  // namespace lehi::testing
