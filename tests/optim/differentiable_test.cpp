// A network that pulls back by itself takes the same steps as the same network with an autograd graph. Here its
// pull_back asks autograd, so that the numbers going into the update are the same to the bit.
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

// Hands out copies in buffers of its own, which the next call overwrites, as the header allows.
struct SelfMade {
  std::vector<std::size_t> calls;  // how many cotangents each call had
  std::vector<Weights> buffers;

  Differentiable of(const torch::Tensor& predictions) {
    return {.predictions = predictions.detach(),
            .pull_back = [this, predictions](const Weights& cotangents, const Weights& parameters) {
              calls.push_back(cotangents.size());
              for (auto& list : buffers) {
                for (auto& buffer : list) {
                  if (buffer.defined()) buffer.fill_(std::nan(""));
                }
              }
              buffers.clear();
              for (const auto& cotangent : cotangents) {
                buffers.push_back(torch::autograd::grad({predictions}, parameters, {cotangent}, /*retain_graph=*/true,
                                                        /*create_graph=*/false, /*allow_unused=*/true));
                for (auto& buffer : buffers.back()) {
                  if (buffer.defined()) buffer = buffer.clone();
                }
              }
              return buffers;
            }};
  }
};

TEST(Differentiable, StepsAreThoseOfTheGraph) {
  for_each_problem([](const Problem& problem) {
    for (const auto& options : lively_presets()) {
      SCOPED_TRACE(options.name);
      const auto weights = fresh(problem.start);
      const auto expected = fresh(problem.start);
      Optimizer optimizer(weights, options);
      Optimizer reference(expected, options);
      SelfMade network;
      for (std::int64_t step = 1; step <= 12; ++step) {
        const double value =
            optimizer.step(network.of(problem.predict(weights, step)), *problem.loss, problem.targets(step));
        EXPECT_EQ(value, take_step(reference, problem, expected, step));
        EXPECT_TRUE(same_bits(flat(weights), flat(expected))) << "after step " << step;
        EXPECT_EQ(network.calls.size(), static_cast<std::size_t>(step)) << "one call a step";
        EXPECT_EQ(network.calls.back(), reference.report().second_pull_back ? 2U : 1U);
        EXPECT_EQ(optimizer.report().second_pull_back, reference.report().second_pull_back);
        EXPECT_EQ(optimizer.report().gradient_norm, reference.report().gradient_norm);
      }
    }
  });
}

TEST(Differentiable, MicroBatchesAreThoseOfTheGraph) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (const auto& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const auto weights = fresh(problem.start);
    const auto expected = fresh(problem.start);
    Optimizer optimizer(weights, options);
    Optimizer reference(expected, options);
    SelfMade network;
    for (std::int64_t step = 1; step <= 12; ++step) {
      const auto targets = problem.targets(step);
      for (const auto& [from, to] : {std::pair(0, 5), std::pair(5, 12)}) {
        const auto rows = [from = from, to = to](const torch::Tensor& all) { return all.slice(0, from, to); };
        const double value =
            optimizer.accumulate(network.of(rows(problem.predict(weights, step))), *problem.loss, rows(targets));
        EXPECT_EQ(value, reference.accumulate(rows(problem.predict(expected, step)), *problem.loss, rows(targets)));
      }
      optimizer.step();
      reference.step();
      EXPECT_TRUE(same_bits(flat(weights), flat(expected))) << "after step " << step;
    }
    EXPECT_EQ(network.calls.size(), 24U);
  }
}

TEST(Differentiable, AParameterThatTakesNoPartIsLeftAlone) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  auto weights = fresh(problem.start);
  weights.push_back(torch::ones({3}, torch::kFloat64).requires_grad_(true));
  Optimizer optimizer(weights, LehiOptions(0.01).weight_decay(0.1));
  SelfMade network;
  optimizer.step(network.of(problem.predict(weights, 1)), *problem.loss, problem.targets(1));
  EXPECT_TRUE(same_bits(weights[2], torch::ones({3}, torch::kFloat64)));
  EXPECT_FALSE(same_bits(weights[0], problem.start[0]));
}

TEST(Differentiable, NonFinitePredictionsFollowThePolicy) {
  const auto w = torch::ones({2}, torch::kFloat64);
  const Differentiable broken = {.predictions = torch::full({3}, std::nan(""), torch::kFloat64),
                                 .pull_back = [](const Weights&, const Weights&) -> std::vector<Weights> {
                                   throw std::logic_error("nothing is to be pulled back");
                                 }};
  const auto targets = torch::zeros({3}, torch::kFloat64);
  Lehi raising(Weights{w}, LehiOptions(0.01));
  EXPECT_THROW(raising.step(broken, MeanSquaredError(), targets), NonFiniteError);
  Lehi skipping(Weights{w}, LehiOptions(0.01).non_finite(NonFinite::skip));
  EXPECT_TRUE(std::isnan(skipping.step(broken, MeanSquaredError(), targets)));
  EXPECT_TRUE(skipping.report().skipped);
}

TEST(Differentiable, APullBackThatDoesNotFitIsRefused) {
  const auto w = torch::ones({2}, torch::kFloat64);
  Lehi optimizer(Weights{w}, LehiOptions(0.01));
  const auto message = [&](const std::vector<Weights>& results) {
    const Differentiable network = {.predictions = torch::zeros({3}, torch::kFloat64),
                                    .pull_back = [&](const Weights&, const Weights&) { return results; }};
    return message_of([&] { optimizer.step(network, MeanSquaredError(), torch::zeros({3}, torch::kFloat64)); });
  };
  const auto good = torch::zeros({2}, torch::kFloat64);
  EXPECT_EQ(message({{good}}), "the network's pull_back returned 1 lists for 2 cotangents");
  EXPECT_EQ(message({{good}, {good, good}}), "the network's pull_back returned 2 tensors for 1 parameters");
  EXPECT_EQ(message({{good}, {torch::zeros({3})}}),
            "the network's pull_back returned shape [3] for a parameter of shape [2]");
  EXPECT_EQ(message({{good}, {torch::Tensor()}}),
            "the network's pull_back returned parameter 0 for one cotangent and left it undefined for another");
  EXPECT_EQ(message({{torch::Tensor()}, {torch::Tensor()}}),
            "none of the optimizer's parameters takes part in the network: there is nothing to train");
  EXPECT_EQ(message_of([&] {
              optimizer.step(Differentiable{torch::zeros({3}, torch::kFloat64), nullptr}, MeanSquaredError(),
                             torch::zeros({3}, torch::kFloat64));
            }),
            "the network has no pull_back: without one nothing can be differentiated");
  EXPECT_EQ(message({{good}, {good}}), "");
}

}  // namespace
}  // namespace lehi::testing
