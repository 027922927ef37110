// The step report and its per-group diagnostics against hand computation from weights, gradients and state.
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

TEST(Diagnostics, EpsDominatedCountsWeightsWhereEpsOutweighsV) {
  // One row, so s = x exactly and v = x^2 after the first step: 1e-4, 0.25, 1 and 9 against eps = 0.5.
  const auto w = torch::ones({4}, torch::kFloat64).requires_grad_(true);
  const auto x = torch::tensor({0.01, 0.5, 1.0, 3.0}, torch::kFloat64);
  Lehi optimizer(Weights{w}, LehiOptions(0.01).eps(0.5).diagnostics(true));
  optimizer.step(x.dot(w).reshape({1}), MeanSquaredError(), torch::zeros({1}, torch::kFloat64));
  ASSERT_EQ(optimizer.report().groups.size(), 1U);
  EXPECT_DOUBLE_EQ(optimizer.report().groups[0].eps_dominated, 0.5);
}

TEST(Diagnostics, EpsDominatedFollowsTheRunningSumOfLehi) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.01).eps(0.3).diagnostics(true));
  double lowest = 1.0;
  double highest = 0.0;
  for (std::int64_t step = 1; step <= 20; ++step) {
    take_step(optimizer, problem, weights, step);
    double dominated = 0.0;
    for (const auto& weight : weights) dominated += (optimizer.find_state(weight)->v < 0.3).sum().item<double>();
    const double fraction = dominated / static_cast<double>(flat(weights).numel());
    EXPECT_DOUBLE_EQ(optimizer.report().groups[0].eps_dominated, fraction);
    lowest = std::min(lowest, fraction);
    highest = std::max(highest, fraction);
  }
  EXPECT_LT(lowest, highest);
}

TEST(Diagnostics, EpsDominatedComparesWithTheCorrectedRootInAdam) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Adam optimizer(weights, AdamOptions(0.01).eps(0.02).diagnostics(true));
  for (std::int64_t step = 1; step <= 5; ++step) take_step(optimizer, problem, weights, step);
  double dominated = 0.0;
  for (const auto& weight : weights) {
    const auto root = (optimizer.find_state(weight)->v / (1 - std::pow(0.999, 5))).sqrt();
    dominated += (root < 0.02).sum().item<double>();
  }
  ASSERT_GT(dominated, 0.0);
  EXPECT_DOUBLE_EQ(optimizer.report().groups[0].eps_dominated, dominated / static_cast<double>(flat(weights).numel()));
}

TEST(Diagnostics, EpsDominatedOfAllWeightsIsTheGroupsWeightedMean) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (auto options : lively_presets()) {
    if (options.recipe.rule == Rule::sgd) continue;
    SCOPED_TRACE(options.name);
    options.diagnostics = true;
    options.group.eps = 0.02;
    const auto weights = fresh(problem.start);
    Optimizer optimizer(groups_of({{weights[0], weights[1]}, {weights[2], weights[3]}}), options);
    EXPECT_EQ(optimizer.eps_dominated(), 0.0) << "nothing is known before the first refresh";
    for (std::int64_t step = 1; step <= 12; ++step) {
      take_step(optimizer, problem, weights, step);
      const auto& groups = optimizer.report().groups;
      const auto first = static_cast<double>(weights[0].numel() + weights[1].numel());
      const auto second = static_cast<double>(weights[2].numel() + weights[3].numel());
      const double mean = (groups[0].eps_dominated * first + groups[1].eps_dominated * second) / (first + second);
      EXPECT_NEAR(optimizer.eps_dominated(), mean, 1e-15);
    }
  }
}

TEST(Diagnostics, SgdHasNoEpsToDominate) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Sgd optimizer(weights, SgdOptions(0.01));
  take_step(optimizer, problem, weights, 1);
  EXPECT_EQ(optimizer.eps_dominated(), 0.0);
}

TEST(Diagnostics, UpdateToWeightAndLargestGradientPerGroup) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (auto options : lively_presets()) {
    SCOPED_TRACE(options.name);
    options.diagnostics = true;
    const auto weights = fresh(problem.start);
    const auto groups = groups_of({{weights[0], weights[1]}, {weights[2], weights[3]}});
    Optimizer optimizer(groups, options);
    for (std::int64_t step = 1; step <= 3; ++step) {
      const auto before = fresh(weights);
      const auto g = torch::autograd::grad({problem.value_at(weights, step)}, weights);
      take_step(optimizer, problem, weights, step);
      double squares = 0.0;
      double largest = 0.0;
      for (const std::size_t group : {0, 1}) {
        const std::size_t first = 2 * group;
        const auto old = flat({before[first], before[first + 1]});
        const auto now = flat({weights[first], weights[first + 1]});
        const auto gradient = flat({g[first], g[first + 1]});
        const auto& seen = optimizer.report().groups.at(group);
        const double ratio = ((now - old).norm() / old.norm()).item<double>();
        EXPECT_NEAR(seen.update_to_weight, ratio, 1e-10 * ratio);
        EXPECT_NEAR(seen.gradient_inf_norm, gradient.abs().max().item<double>(), 1e-14);
        squares += gradient.square().sum().item<double>();
        largest = std::max(largest, gradient.abs().max().item<double>());
      }
      EXPECT_NEAR(optimizer.report().gradient_norm, std::sqrt(squares), 1e-13);
      EXPECT_NEAR(optimizer.report().gradient_inf_norm, largest, 1e-14);
      EXPECT_EQ(optimizer.report().step, step);
      EXPECT_EQ(optimizer.report().clip_factor, 1.0);
      EXPECT_EQ(optimizer.report().count, problem.count());
    }
  }
}

TEST(Diagnostics, AreOffUnlessAskedFor) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.01));
  take_step(optimizer, problem, weights, 1);
  EXPECT_TRUE(optimizer.report().groups.empty());
}

TEST(Diagnostics, TheReportSaysWhichStepsPulledTwice) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto pulls = [&](const Options& options, int steps) {
    const auto weights = fresh(problem.start);
    Optimizer optimizer(weights, options);
    std::string text;
    for (std::int64_t step = 1; step <= steps; ++step) {
      take_step(optimizer, problem, weights, step);
      text += optimizer.report().second_pull_back ? '2' : optimizer.report().refreshed ? '1' : '.';
    }
    return text;
  };
  EXPECT_EQ(pulls(LehiOptions(0.01), 4), "2222");
  EXPECT_EQ(pulls(LehibridOptions(0.01), 6), "212121");
  EXPECT_EQ(pulls(AdamOptions(0.01), 3), "111");
  EXPECT_EQ(pulls(SophiaGOptions(0.01), 12), "2.........2.");
  EXPECT_EQ(pulls(LehiGnOptions(0.01).mix(Mix::none).refresh_every(3, 2), 10), "222..2..2.");
  EXPECT_EQ(pulls(LehibridOptions(0.01).refresh_every(3, 2), 12), "212..1..2..1");
}

TEST(Diagnostics, CurvatureIsTheBiasCorrectedEstimate) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi lehi(weights, LehiOptions(0.01).betas(0.9, 0.99).refresh_every(5));
  EXPECT_FALSE(lehi.curvature(weights[0]).defined());
  EXPECT_EQ(lehi.find_state(weights[0]), nullptr);
  for (std::int64_t step = 1; step <= 8; ++step) take_step(lehi, problem, weights, step);
  const auto* state = lehi.find_state(weights[0]);
  EXPECT_EQ(state->steps_covered, 10);
  EXPECT_EQ(state->step, 8);
  EXPECT_LE(relative_difference(lehi.curvature(weights[0]), state->v * 0.01 / (1 - std::pow(0.99, 10))), 1e-13);

  const auto others = fresh(problem.start);
  Adam adam(others, AdamOptions(0.01));
  for (std::int64_t step = 1; step <= 3; ++step) take_step(adam, problem, others, step);
  const auto& v = adam.find_state(others[0])->v;
  EXPECT_LE(relative_difference(adam.curvature(others[0]), v / (1 - std::pow(0.999, 3))), 1e-13);
}

}  // namespace
}  // namespace lehi::testing
