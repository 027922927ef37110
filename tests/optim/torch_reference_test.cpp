// The presets that torch::optim has in C++, followed for 200 steps side by side with it.
#include <torch/optim.h>

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

using TorchOptimizer = std::function<std::unique_ptr<torch::optim::Optimizer>(Weights)>;

template <class Optimizer, class OptimizerOptions>
TorchOptimizer torch_optimizer(OptimizerOptions options) {
  return [options](Weights weights) { return std::make_unique<Optimizer>(std::move(weights), options); };
}

// Torch's optimizer takes its gradients from backward() of torch's own loss; the library's from its own.
void expect_same_path(const Options& options, const TorchOptimizer& make_reference) {
  for_each_problem([&](const Problem& problem) {
    const auto weights = fresh(problem.start);
    const auto expected = fresh(problem.start);
    Optimizer optimizer(weights, options);
    const auto reference = make_reference(expected);
    for (std::int64_t step = 1; step <= 200; ++step) {
      const double value = take_step(optimizer, problem, weights, step);
      reference->zero_grad();
      const auto loss = problem.value_at(expected, step);
      loss.backward();
      reference->step();
      expect_close(weights, flat(expected), tolerance(problem.dtype), step);
      EXPECT_NEAR(value, loss.item<double>(), tolerance(problem.dtype) * (1.0 + std::abs(value)));
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(relative_difference(flat(weights), flat(problem.start)), 1e-3) << "the run went nowhere";
  });
}

TEST(TorchReference, AdamFollowsTorch) {
  expect_same_path(AdamOptions(0.01), torch_optimizer<torch::optim::Adam>(torch::optim::AdamOptions(0.01)));
}

TEST(TorchReference, AdamWithOtherNumbersFollowsTorch) {
  expect_same_path(AdamOptions(0.005).betas(0.8, 0.98).eps(1e-3),
                   torch_optimizer<torch::optim::Adam>(torch::optim::AdamOptions(0.005).betas({0.8, 0.98}).eps(1e-3)));
}

TEST(TorchReference, AdamWFollowsTorch) {
  expect_same_path(AdamWOptions(0.01), torch_optimizer<torch::optim::AdamW>(torch::optim::AdamWOptions(0.01)));
}

TEST(TorchReference, AdamWWithStrongDecayFollowsTorch) {
  expect_same_path(AdamWOptions(0.01).weight_decay(0.5),
                   torch_optimizer<torch::optim::AdamW>(torch::optim::AdamWOptions(0.01).weight_decay(0.5)));
}

// In these weight decay is added to the gradient (Decay::coupled), as in torch.
TEST(TorchReference, WeightDecayOfAdamAndItsKinFollowsTorch) {
  expect_same_path(AdamOptions(0.01).weight_decay(0.2),
                   torch_optimizer<torch::optim::Adam>(torch::optim::AdamOptions(0.01).weight_decay(0.2)));
  expect_same_path(
      AmsgradOptions(0.01).weight_decay(0.2),
      torch_optimizer<torch::optim::Adam>(torch::optim::AdamOptions(0.01).weight_decay(0.2).amsgrad(true)));
  expect_same_path(AdagradOptions(0.1).weight_decay(0.2),
                   torch_optimizer<torch::optim::Adagrad>(torch::optim::AdagradOptions(0.1).weight_decay(0.2)));
  expect_same_path(RmspropOptions(0.01).weight_decay(0.2),
                   torch_optimizer<torch::optim::RMSprop>(torch::optim::RMSpropOptions(0.01).weight_decay(0.2)));
  expect_same_path(SgdOptions(0.01).momentum(0.9).weight_decay(0.2),
                   torch_optimizer<torch::optim::SGD>(torch::optim::SGDOptions(0.01).momentum(0.9).weight_decay(0.2)));
}

TEST(TorchReference, AdagradFollowsTorch) {
  expect_same_path(AdagradOptions(0.1), torch_optimizer<torch::optim::Adagrad>(torch::optim::AdagradOptions(0.1)));
}

TEST(TorchReference, AdagradWithLargeEpsFollowsTorch) {
  expect_same_path(AdagradOptions(0.1).eps(0.1),
                   torch_optimizer<torch::optim::Adagrad>(torch::optim::AdagradOptions(0.1).eps(0.1)));
}

TEST(TorchReference, RmspropFollowsTorch) {
  expect_same_path(RmspropOptions(0.01), torch_optimizer<torch::optim::RMSprop>(torch::optim::RMSpropOptions(0.01)));
}

TEST(TorchReference, RmspropWithMomentumFollowsTorch) {
  expect_same_path(
      RmspropOptions(0.001).momentum(0.9).betas(0.0, 0.95).eps(1e-4),
      torch_optimizer<torch::optim::RMSprop>(torch::optim::RMSpropOptions(0.001).momentum(0.9).alpha(0.95).eps(1e-4)));
}

TEST(TorchReference, SgdFollowsTorch) {
  expect_same_path(SgdOptions(0.02), torch_optimizer<torch::optim::SGD>(torch::optim::SGDOptions(0.02)));
}

TEST(TorchReference, SgdWithMomentumFollowsTorch) {
  expect_same_path(SgdOptions(0.01).momentum(0.9),
                   torch_optimizer<torch::optim::SGD>(torch::optim::SGDOptions(0.01).momentum(0.9)));
}

TEST(TorchReference, SgdWithDampeningFollowsTorch) {
  expect_same_path(SgdOptions(0.02).momentum(0.9).dampening(0.3),
                   torch_optimizer<torch::optim::SGD>(torch::optim::SGDOptions(0.02).momentum(0.9).dampening(0.3)));
}

TEST(TorchReference, SgdWithNesterovMomentumFollowsTorch) {
  expect_same_path(SgdOptions(0.01).momentum(0.9).nesterov(true),
                   torch_optimizer<torch::optim::SGD>(torch::optim::SGDOptions(0.01).momentum(0.9).nesterov(true)));
}

TEST(TorchReference, DefaultNumbersAreTorchs) {
  const torch::optim::AdamOptions adam;
  EXPECT_EQ(preset(Preset::adam).group.lr, adam.lr());
  EXPECT_EQ(preset(Preset::adam).group.beta1, std::get<0>(adam.betas()));
  EXPECT_EQ(preset(Preset::adam).group.beta2, std::get<1>(adam.betas()));
  EXPECT_EQ(preset(Preset::adam).group.eps, adam.eps());
  EXPECT_EQ(preset(Preset::adam).group.weight_decay, adam.weight_decay());

  const torch::optim::AdamWOptions adamw;
  EXPECT_EQ(preset(Preset::adamw).group.lr, adamw.lr());
  EXPECT_EQ(preset(Preset::adamw).group.weight_decay, adamw.weight_decay());
  EXPECT_EQ(preset(Preset::adamw).group.eps, adamw.eps());

  const torch::optim::AdagradOptions adagrad;
  EXPECT_EQ(preset(Preset::adagrad).group.lr, adagrad.lr());
  EXPECT_EQ(preset(Preset::adagrad).group.eps, adagrad.eps());

  const torch::optim::RMSpropOptions rmsprop;
  EXPECT_EQ(preset(Preset::rmsprop).group.lr, rmsprop.lr());
  EXPECT_EQ(preset(Preset::rmsprop).group.beta2, rmsprop.alpha());
  EXPECT_EQ(preset(Preset::rmsprop).group.eps, rmsprop.eps());
  EXPECT_EQ(preset(Preset::rmsprop).group.momentum, rmsprop.momentum());

  EXPECT_EQ(preset(Preset::sgd).group.momentum, 0.0);
  EXPECT_EQ(preset(Preset::sgd).group.weight_decay, 0.0);
}

}  // namespace
}  // namespace lehi::testing
