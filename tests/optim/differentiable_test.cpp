// A network that pulls back by itself takes the same steps as the same network with an autograd graph. Here its
// pull_back asks autograd, so that the numbers going into the update are the same to the bit.
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

// Delivers copies in buffers of its own, which the next call overwrites, as the header allows.
struct SelfMade {
  Weights parameters;
  std::vector<std::size_t> calls = {};  // how many cotangents each call had
  std::vector<Weights> buffers = {};    // of each parameter that took part

  Differentiable of(const torch::Tensor& predictions) {
    return {.predictions = predictions.detach(),
            .pull_back = [this, predictions](const Weights& cotangents, const Differentiable::Deliver& deliver) {
              calls.push_back(cotangents.size());
              for (auto& list : buffers) {
                for (auto& buffer : list) buffer.fill_(std::nan(""));
              }
              buffers.assign(parameters.size(), {});
              for (const auto& cotangent : cotangents) {
                const auto gradients =
                    torch::autograd::grad({predictions}, parameters, {cotangent}, /*retain_graph=*/true,
                                          /*create_graph=*/false, /*allow_unused=*/true);
                for (std::size_t i = 0; i < gradients.size(); ++i) {
                  if (gradients[i].defined()) buffers[i].push_back(gradients[i].clone());
                }
              }
              // Backwards, as a network's layers come.
              for (std::size_t i = parameters.size(); i-- > 0;) {
                if (!buffers[i].empty()) deliver(parameters[i], buffers[i]);
              }
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
      SelfMade network{weights};
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
    SelfMade network{weights};
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
  SelfMade network{weights};
  optimizer.step(network.of(problem.predict(weights, 1)), *problem.loss, problem.targets(1));
  EXPECT_TRUE(same_bits(weights[2], torch::ones({3}, torch::kFloat64)));
  EXPECT_FALSE(same_bits(weights[0], problem.start[0]));
}

TEST(Differentiable, NonFinitePredictionsFollowThePolicy) {
  const auto w = torch::ones({2}, torch::kFloat64);
  const Differentiable broken = {.predictions = torch::full({3}, std::nan(""), torch::kFloat64),
                                 .pull_back = [](const Weights&, const Differentiable::Deliver&) {
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
  const auto message = [&](const std::vector<Weights>& deliveries, const torch::Tensor& to) {
    const Differentiable network = {.predictions = torch::zeros({3}, torch::kFloat64),
                                    .pull_back = [&](const Weights&, const Differentiable::Deliver& deliver) {
                                      for (const auto& pulled : deliveries) deliver(to, pulled);
                                    }};
    return message_of([&] { optimizer.step(network, MeanSquaredError(), torch::zeros({3}, torch::kFloat64)); });
  };
  const auto good = torch::zeros({2}, torch::kFloat64);
  EXPECT_EQ(message({{good}}, w), "the network's pull_back delivered 1 tensors of parameter 0 for 2 cotangents");
  EXPECT_EQ(message({{good, torch::zeros({3})}}, w),
            "the network's pull_back delivered shape [3] of parameter 0, which has shape [2]");
  EXPECT_EQ(message({{good, torch::Tensor()}}, w),
            "the network's pull_back delivered an undefined tensor of parameter 0");
  EXPECT_EQ(message({{good, good}, {good, good}}, w), "the network's pull_back delivered parameter 0 twice");
  EXPECT_EQ(message({}, w), "none of the optimizer's parameters takes part in the network: there is nothing to train");
  EXPECT_EQ(message({{good, good}}, good.clone()),
            "none of the optimizer's parameters takes part in the network: there is nothing to train")
      << "a stranger's parameter is passed over";
  EXPECT_EQ(message_of([&] {
              optimizer.step(Differentiable{torch::zeros({3}, torch::kFloat64), nullptr}, MeanSquaredError(),
                             torch::zeros({3}, torch::kFloat64));
            }),
            "the network has no pull_back: without one nothing can be differentiated");
  EXPECT_EQ(message({{good, good}}, w), "");
}

TEST(UpdateDuringPullBack, GivesTheSameBits) {
  for_each_problem([](const Problem& problem) {
    for (auto options : lively_presets()) {
      SCOPED_TRACE(options.name);
      options.clip_norm.reset();
      options.diagnostics = false;
      options.non_finite = NonFinite::record;
      const auto expected = fresh(problem.start);
      Optimizer reference(expected, options);
      options.update_during_pull_back = true;
      const auto weights = fresh(problem.start);
      Optimizer optimizer(weights, options);
      SelfMade network{weights};
      SelfMade other{expected};
      for (std::int64_t step = 1; step <= 12; ++step) {
        optimizer.step(network.of(problem.predict(weights, step)), *problem.loss, problem.targets(step));
        reference.step(other.of(problem.predict(expected, step)), *problem.loss, problem.targets(step));
        EXPECT_TRUE(same_bits(flat(weights), flat(expected))) << "after step " << step;
        EXPECT_EQ(optimizer.report().gradient_inf_norm, reference.report().gradient_inf_norm);
        // Squares are added in the order of arrival.
        EXPECT_NEAR(optimizer.report().gradient_norm, reference.report().gradient_norm,
                    1e-12 * reference.report().gradient_norm);
      }
    }
  });
}

// The weight is changed inside deliver(): when the next parameter arrives, the one before has moved.
TEST(UpdateDuringPullBack, UpdatesEachWeightAsItArrives) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.1).update_during_pull_back(true).non_finite(NonFinite::record));
  SelfMade network{weights};
  const auto inner = network.of(problem.predict(weights, 1));
  std::size_t moved = 0;
  const Differentiable watched = {inner.predictions, [&](const Weights& cotangents, const auto& deliver) {
                                    inner.pull_back(cotangents, [&](const auto& parameter, const auto& pulled) {
                                      const auto before = parameter.detach().clone();
                                      deliver(parameter, pulled);
                                      if (!same_bits(before, parameter.detach())) ++moved;
                                    });
                                  }};
  optimizer.step(watched, *problem.loss, problem.targets(1));
  EXPECT_EQ(moved, weights.size());
}

TEST(UpdateDuringPullBack, IsRefusedWhereItCouldNotUndo) {
  const auto w = torch::ones({2}, torch::kFloat64).requires_grad_(true);
  const auto options = LehiOptions(0.1).update_during_pull_back(true);
  const auto message = [&](Options chosen) { return message_of([&] { Optimizer(Weights{w}, std::move(chosen)); }); };
  const std::string why = "weights are updated before the whole gradient is known";
  EXPECT_EQ(message(options),
            "update_during_pull_back can't be joined with the non-finite policy throw, only with record: " + why);
  EXPECT_EQ(message(LehiOptions(options).non_finite(NonFinite::skip)),
            "update_during_pull_back can't be joined with the non-finite policy skip, only with record: " + why);
  EXPECT_EQ(message(LehiOptions(options).clip_norm(1.0)),
            "update_during_pull_back can't be joined with clip_norm: " + why);
  Lehi optimizer(Weights{w}, LehiOptions(options).non_finite(NonFinite::record));
  const auto targets = torch::zeros({2}, torch::kFloat64);
  EXPECT_EQ(message_of([&] { optimizer.accumulate(w * 2, MeanSquaredError(), targets); }),
            "update_during_pull_back updates the weights at once and cannot accumulate() micro-batches");
  EXPECT_EQ(message_of([&] { optimizer.step(w * 2, MeanSquaredError(), targets); }),
            "update_during_pull_back is for networks that differentiate themselves (lehi::Differentiable), without a "
            "regulariser: nothing else tells when a weight's gradient is complete");
}

}  // namespace
}  // namespace lehi::testing
