// LinearCrossEntropy against CrossEntropy on logits computed by torch, with u and v pulled back through the product by
// autograd.
#include "lehi/linear_cross_entropy.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "lehi/presets.h"
#include "support/support.h"

namespace lehi::testing {
namespace {

struct LinearProblem {
  torch::Tensor hidden;
  torch::Tensor weight;
  torch::Tensor targets;
};

LinearProblem linear_problem(torch::Dtype dtype = torch::kFloat64) {
  torch::manual_seed(5);
  LinearProblem problem{torch::randn({3, 7, 6}, dtype), torch::randn({11, 6}, dtype),
                        torch::randint(0, 11, {3, 7}, torch::kInt64)};
  problem.targets[1][2] = -100;
  return problem;
}

TEST(LinearCrossEntropy, IsCrossEntropyOfTheProductInAnyChunks) {
  for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
    const double tolerance = dtype == torch::kFloat64 ? 1e-13 : 1e-5;
    auto [hidden, weight, targets] = linear_problem(dtype);
    const auto h = hidden.clone().requires_grad_(true);
    const auto w = weight.clone().requires_grad_(true);
    const auto logits = torch::matmul(h, w.t());
    for (const Probe probe : all_probes()) {
      const ProbeRequest request{probe, Scale::sqrt_n, {.seed = 3, .step = 2, .first_row = 40}};
      const auto expected = CrossEntropy().evaluate(logits, targets, request);
      for (const std::int64_t chunk : {0, 1, 4, 20, 21, 1000}) {
        SCOPED_TRACE(std::string(name(probe)) + ", chunks of " + std::to_string(chunk));
        const LinearCrossEntropy loss(weight, {}, chunk);
        const auto got = loss.evaluate(hidden, targets, request);
        EXPECT_NEAR(got.sum, expected.sum, tolerance * expected.sum);
        EXPECT_EQ(got.count, 20.0);
        EXPECT_EQ(got.rows, 21);
        const auto check = [&](const torch::Tensor& cotangent, const torch::Tensor& to_hidden,
                               const torch::Tensor& to_weight) {
          const auto gradients = torch::autograd::grad({logits}, {h, w}, {cotangent}, /*retain_graph=*/true);
          EXPECT_LE(relative_difference(to_hidden, gradients[0]), tolerance);
          EXPECT_LE(relative_difference(to_weight, gradients[1]), tolerance);
        };
        check(expected.gradient, got.gradient, got.parameter_gradients.at(0));
        if (probe == Probe::gradient) {
          EXPECT_TRUE(got.parameter_probes.empty());
        } else {
          check(expected.probe, got.probe, got.parameter_probes.at(0));
        }
        EXPECT_NEAR(loss.value(hidden, targets).sum, expected.sum, tolerance * expected.sum);
      }
    }
  }
}

TEST(LinearCrossEntropy, TakesProbabilitiesSmoothingAndWeights) {
  const auto [hidden, weight, indices] = linear_problem();
  const auto targets = torch::softmax(torch::randn({3, 7, 11}, torch::kFloat64), -1);
  const CrossEntropyOptions options{.label_smoothing = 0.1, .class_weights = torch::rand({11}, torch::kFloat64)};
  const auto logits = torch::matmul(hidden, weight.t());
  const auto expected = CrossEntropy(options).evaluate(logits, targets);
  const auto got = LinearCrossEntropy(weight, options, 4).evaluate(hidden, targets);
  EXPECT_NEAR(got.mean(), expected.mean(), 1e-13 * expected.mean());
  EXPECT_LE(relative_difference(got.gradient, torch::matmul(expected.gradient, weight)), 1e-13);
}

TEST(LinearCrossEntropy, SecondDerivativesAreAutogradsOfAutograd) {
  const auto [hidden, weight, targets] = linear_problem();
  const auto h = hidden.view({-1, 6})[0].clone().requires_grad_(true);
  const auto value =
      torch::logsumexp(torch::mv(weight, h), 0) - torch::mv(weight, h)[targets[0][0].item<std::int64_t>()];
  const auto first = gradient_of(value, h);
  const auto diagonal = LinearCrossEntropy(weight).second_derivatives(hidden, targets).view({-1, 6})[0];
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_NEAR(diagonal[i].item<double>(), gradient_of(first[i], h)[i].item<double>(), 1e-12);
  }
}

// One weight is embedding and output layer: g and s are the sums of both parts, before s is squared.
TEST(LinearCrossEntropy, TiedWeightsTakeTheStepsOfOneGraph) {
  const auto [unused, start, unused_targets] = linear_problem();
  torch::manual_seed(8);
  const auto tokens = torch::randint(0, 11, {5, 4}, torch::kInt64);
  const auto targets = torch::randint(0, 11, {5, 4}, torch::kInt64);
  for (const auto& make :
       {preset("lehi"), preset("lehibrid"), preset("lehi-gn"), preset("adamw"), preset("sophia-g")}) {
    SCOPED_TRACE(make.name);
    const auto tied = start.clone().requires_grad_(true);
    const auto whole = start.clone().requires_grad_(true);
    Optimizer optimizer(std::vector<torch::Tensor>{tied}, make);
    Optimizer reference(std::vector<torch::Tensor>{whole}, make);
    for (int step = 0; step < 5; ++step) {
      const LinearCrossEntropy loss(tied, {}, 3);
      const double value = optimizer.step(torch::tanh(torch::embedding(tied, tokens)), loss, targets);
      const auto logits = torch::matmul(torch::tanh(torch::embedding(whole, tokens)), whole.t());
      EXPECT_NEAR(value, reference.step(logits, CrossEntropy(), targets), 1e-12);
      EXPECT_LE(relative_difference(tied.detach(), whole.detach()), 1e-12);
      optimizer.accumulate(torch::tanh(torch::embedding(tied, tokens.slice(0, 0, 2))), loss, targets.slice(0, 0, 2));
      optimizer.accumulate(torch::tanh(torch::embedding(tied, tokens.slice(0, 2, 5))), loss, targets.slice(0, 2, 5));
      optimizer.step();
      reference.step(torch::matmul(torch::tanh(torch::embedding(whole, tokens)), whole.t()), CrossEntropy(), targets);
      EXPECT_LE(relative_difference(tied.detach(), whole.detach()), 1e-11);
    }
  }
}

TEST(LinearCrossEntropy, ThrowsForWrongShapes) {
  const auto [hidden, weight, targets] = linear_problem();
  EXPECT_EQ(message_of([] { LinearCrossEntropy(torch::ones({3})); }),
            "linear-cross-entropy: the weight must have the shape [classes, width], not [3]");
  const LinearCrossEntropy loss(weight);
  EXPECT_EQ(
      message_of([&] { loss.evaluate(hidden.slice(-1, 0, 5), targets); }),
      "linear-cross-entropy: the hidden values are Double [3, 7, 5]; expected Double [..., 6], to match the weight of "
      "shape [11, 6]");
  EXPECT_EQ(message_of([&] { loss.evaluate(hidden, targets.slice(1, 0, 6)); }),
            "linear-cross-entropy: the targets have shape [3, 6]; expected [3, 7]");
}

}  // namespace
}  // namespace lehi::testing
