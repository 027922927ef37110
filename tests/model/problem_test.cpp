// The problems have the published values, and optimizers make progress on them.
#include "model/problem.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <map>
#include <string>

#include "lehi/optimizer.h"
#include "support/support.h"

namespace lehi {
namespace {

torch::Tensor tensor(const std::vector<double>& numbers) { return torch::tensor(numbers, torch::kFloat64); }

// grad f by autograd through the predictions, with u from the loss.
torch::Tensor gradient(const Problem& problem, const std::vector<double>& at) {
  auto w = tensor(at).requires_grad_(true);
  const auto predictions = problem.predictions(w);
  const auto u = problem.loss->evaluate(predictions, problem.targets).gradient;
  return torch::autograd::grad({predictions}, {w}, {u})[0];
}

TEST(Problems, AreOneRowOfPredictions) {
  for (const auto& problem : problems()) {
    const auto predictions = problem.predictions(tensor(problem.start));
    EXPECT_EQ(predictions.dim(), 2) << problem.name;
    EXPECT_EQ(predictions.size(0), 1) << problem.name;
    EXPECT_EQ(predictions.sizes(), problem.targets.sizes()) << problem.name;
    EXPECT_EQ(problem.start.size(), problem.optimum.size()) << problem.name;
  }
}

TEST(Problems, StartAtThePublishedPointsWithThePublishedValues) {
  // f at the standard start in More, Garbow and Hillstrom's sum of squares (24.2, 14.203125, 215, 19192, 2500), halved.
  const std::map<std::string, double> values = {
      {"rosenbrock", 12.1}, {"beale", 7.1015625}, {"powell", 107.5}, {"wood", 9596}, {"helical", 1250}};
  const std::map<std::string, std::vector<double>> starts = {{"rosenbrock", {-1.2, 1}},
                                                             {"beale", {1, 1}},
                                                             {"powell", {3, -1, 0, 1}},
                                                             {"wood", {-3, -1, -3, -1}},
                                                             {"helical", {-1, 0, 0}}};
  for (const auto& [name, published] : values) {
    const auto& problem = find_problem(name);
    EXPECT_EQ(problem.start, starts.at(name)) << name;
    EXPECT_NEAR(value(problem, tensor(problem.start)), published, 1e-12 * published) << name;
  }
  // 20 log 2, all probabilities a half; and half the sum of Anscombe's squared y, 660.1727.
  EXPECT_NEAR(value(find_problem("logistic-regression"), tensor({0, 0})), 20 * std::log(2.0), 1e-12);
  EXPECT_NEAR(value(find_problem("linear-regression"), tensor({0, 0})), 660.1727 / 2, 1e-10);
}

TEST(Problems, HaveTheirMinimumAtTheirOptimum) {
  for (const auto& problem : problems()) {
    EXPECT_NEAR(value(problem, tensor(problem.optimum)), problem.minimum, 1e-12) << problem.name;
    EXPECT_LE(gradient(problem, problem.optimum).abs().max().item<double>(), 1e-11) << problem.name;
    // It is a minimum: no neighbour is lower.
    for (std::size_t i = 0; i < problem.optimum.size(); ++i) {
      for (const double move : {-1e-2, 1e-2}) {
        auto neighbour = problem.optimum;
        neighbour[i] += move;
        EXPECT_GT(value(problem, tensor(neighbour)), problem.minimum) << problem.name << " weight " << i;
      }
    }
  }
}

TEST(Problems, AgreeWithPublishedFits) {
  // Anscombe (1973): y = 3.00 + 0.500 x, residual sum of squares 13.763. The exam data: -4.0777 and 1.5046, log
  // likelihood -8.02988 (the textbook example of logistic regression).
  const auto& linear = find_problem("linear-regression");
  EXPECT_NEAR(linear.optimum[0], 3.0001, 5e-5);
  EXPECT_NEAR(linear.optimum[1], 0.5001, 5e-5);
  EXPECT_NEAR(2 * linear.minimum, 13.763, 5e-4);
  const auto& logistic = find_problem("logistic-regression");
  EXPECT_NEAR(logistic.optimum[0], -4.0777, 5e-5);
  EXPECT_NEAR(logistic.optimum[1], 1.5046, 5e-5);
  EXPECT_NEAR(logistic.minimum, 8.02988, 5e-6);
}

TEST(Problems, HelicalIsSmoothAcrossTheNegativeAxis) {
  // The published angle is continuous where atan2(w2, w1) jumps by a whole turn.
  const auto& helical = find_problem("helical");
  EXPECT_NEAR(value(helical, tensor({-1, 1e-9, 0})), value(helical, tensor({-1, -1e-9, 0})), 1e-4);
}

TEST(Problems, EveryOptimizerGoesDownhill) {
  // sgd does not scale its steps, nor radam its first five: both need a rate below 2 over the largest curvature, 10^4.
  for (const auto& problem : problems()) {
    for (const auto which : all_presets()) {
      auto options = preset(which);
      options.group.lr = which == Preset::sgd || which == Preset::radam ? 1e-5 : 1e-3;
      auto w = tensor(problem.start).requires_grad_(true);
      Optimizer optimizer(std::vector<torch::Tensor>{w}, options);
      for (int step = 0; step < 200; ++step) optimizer.step(problem.predictions(w), *problem.loss, problem.targets);
      EXPECT_LT(value(problem, w.detach()), value(problem, tensor(problem.start)))
          << options.name << " on " << problem.name;
    }
  }
}

TEST(Problems, AreFoundByNameOrThrowWithAllNames) {
  EXPECT_EQ(find_problem("wood").name, "wood");
  EXPECT_EQ(
      testing::message_of([] { find_problem("woods"); }),
      "unknown problem 'woods': expected one of rosenbrock, beale, powell, wood, helical, bowl, linear-regression, "
      "logistic-regression");
}

}  // namespace
}  // namespace lehi
