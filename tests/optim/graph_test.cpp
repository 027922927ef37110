// What a step touches and what it leaves alone: frozen parameters, parameters outside the graph, another optimizer's
// parameters, .grad(), the probe when there is a regulariser; and torch's own closure contract.
#include "lehi/error.h"
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

TEST(Graph, FrozenAndUnusedParametersStayUntouched) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (const auto& options : lively_presets()) {  // with weight decay, which must not reach them either
    SCOPED_TRACE(options.name);
    auto weights = fresh(problem.start);
    weights[0].requires_grad_(false);
    weights.push_back(torch::ones({3}, torch::kFloat64).requires_grad_(true));
    const auto unused = weights.back().detach().clone();
    Optimizer optimizer(weights, options);
    for (std::int64_t step = 1; step <= 12; ++step) take_step(optimizer, problem, weights, step);
    EXPECT_TRUE(same_bits(weights[0], problem.start[0]));
    EXPECT_TRUE(same_bits(weights[4], unused));
    for (const std::size_t i : {1, 2, 3}) EXPECT_FALSE(same_bits(weights[i], problem.start[i]));
  }
}

TEST(Graph, GradIsNeitherReadNorWritten) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (const auto& options : lively_presets()) {
    SCOPED_TRACE(options.name);
    const auto weights = fresh(problem.start);
    const auto expected = fresh(problem.start);
    weights[1].mutable_grad() = torch::full_like(weights[1], 17.0).detach();
    Optimizer optimizer(weights, options);
    Optimizer reference(expected, options);
    for (std::int64_t step = 1; step <= 3; ++step) {
      take_step(optimizer, problem, weights, step);
      take_step(reference, problem, expected, step);
    }
    EXPECT_TRUE(same_bits(flat(weights), flat(expected)));
    EXPECT_TRUE(torch::equal(weights[1].grad(), torch::full_like(weights[1], 17.0)));
    EXPECT_FALSE(weights[0].grad().defined());
  }
}

// A GAN's two players on one graph: the generator's parameters first (their values are not needed for the other's
// gradients), then the discriminator's.
TEST(Graph, TwoOptimizersOnOneGraphTouchOnlyTheirOwn) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const Weights generator{weights[0], weights[1]};
  const Weights discriminator{weights[2], weights[3]};
  Lehi first(generator, LehiOptions(0.01));
  LehiGn second(discriminator, LehiGnOptions(0.01));
  const auto p = problem.predict(weights, 1);
  const auto g = torch::autograd::grad({problem.value(p, problem.targets(1))}, weights, {}, true);

  first.step(p, *problem.loss, problem.targets(1), /*keep_graph=*/true);
  EXPECT_FALSE(same_bits(weights[0], problem.start[0]));
  EXPECT_TRUE(same_bits(flat(discriminator), flat({problem.start[2], problem.start[3]})));
  const auto after_first = fresh(generator);

  second.step(p, *problem.loss, problem.targets(1));
  EXPECT_TRUE(same_bits(flat(generator), flat(after_first)));
  EXPECT_FALSE(same_bits(weights[2], problem.start[2]));
  EXPECT_LE(relative_difference(first.find_state(weights[0])->m, g[0]), 1e-13);
  EXPECT_LE(relative_difference(second.find_state(weights[2])->m, 0.1 * g[2]), 1e-13);
  for (const auto& weight : weights) EXPECT_FALSE(weight.grad().defined());
}

TEST(Graph, WithoutKeepGraphTheGraphIsFreed) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.01));
  const auto p = problem.predict(weights, 1);
  optimizer.step(p, *problem.loss, problem.targets(1));
  EXPECT_NE(message_of([&] { p.sum().backward(); }).find("backward through the graph a second time"),
            std::string::npos);
}

TEST(Graph, ARegulariserEntersTheGradientOnly) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto plain = fresh(problem.start);
  const auto regular = fresh(problem.start);
  Lehi without(plain, LehiOptions(0.01));
  Lehi with(regular, LehiOptions(0.01));
  take_step(without, problem, plain, 1);
  const auto penalty = 0.3 * regular[2].square().sum();
  with.step({{problem.predict(regular, 1), *problem.loss, problem.targets(1)}}, penalty);
  EXPECT_NEAR(with.report().value, without.report().value + penalty.item<double>(), 1e-14);
  for (const std::size_t i : {0, 1, 2, 3}) {
    EXPECT_TRUE(same_bits(with.find_state(regular[i])->v, without.find_state(plain[i])->v)) << "v of weight " << i;
    const auto penalty_gradient = i == 2 ? 0.6 * problem.start[2] : torch::zeros_like(problem.start[i]);
    EXPECT_LE(relative_difference(with.find_state(regular[i])->m, without.find_state(plain[i])->m + penalty_gradient),
              1e-14);
  }
}

// The gradient of wd/2 |w|^2 is wd w: every preset with coupled decay takes the steps of that regulariser.
TEST(Graph, AnL2RegulariserIsCoupledWeightDecay) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (const auto kind : all_presets()) {
    Options decaying = preset(kind);
    if (decaying.recipe.decay != Decay::coupled) continue;
    SCOPED_TRACE(decaying.name);
    const Options plain = decaying;
    decaying.group.weight_decay = 0.1;
    const auto weights = fresh(problem.start);
    const auto expected = fresh(problem.start);
    Optimizer optimizer(weights, decaying);
    Optimizer reference(expected, plain);
    for (std::int64_t step = 1; step <= 50; ++step) {
      take_step(optimizer, problem, weights, step);
      auto penalty = torch::zeros({}, torch::kFloat64);
      for (const auto& weight : expected) penalty = penalty + 0.05 * weight.square().sum();
      reference.step({{problem.predict(expected, step), *problem.loss, problem.targets(step)}}, penalty);
    }
    expect_close(weights, flat(expected), 1e-12, 50);
  }
}

// Terms are values: they can be stored, assigned and used again.
TEST(Graph, TermsCanBeStoredAndAssigned) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const auto expected = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.01));
  Lehi reference(expected, LehiOptions(0.01));
  std::vector<Term> terms;
  for (std::int64_t step = 1; step <= 3; ++step) {
    const Term term(problem.predict(weights, step), *problem.loss, problem.targets(step));
    if (terms.empty()) terms.push_back(term);
    terms.front() = term;
    optimizer.step(terms);
    take_step(reference, problem, expected, step);
  }
  EXPECT_TRUE(same_bits(flat(weights), flat(expected)));
}

// zero_grad(); backward(); step(): what a program written for torch's optimizers does.
TEST(Graph, GradientsAloneStepAsTorchDoes) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (const auto policy : {NonFinite::throw_error, NonFinite::skip, NonFinite::record}) {
    const auto weights = fresh(problem.start);
    const auto expected = fresh(problem.start);
    AdamW optimizer(weights, AdamWOptions(0.01).non_finite(policy));
    torch::optim::AdamW reference(expected, torch::optim::AdamWOptions(0.01));
    for (std::int64_t step = 1; step <= 20; ++step) {
      optimizer.zero_grad();
      problem.value_at(weights, step).backward();
      optimizer.step();
      EXPECT_TRUE(std::isnan(optimizer.report().value));
      EXPECT_FALSE(optimizer.report().non_finite || optimizer.report().skipped);
      reference.zero_grad();
      problem.value_at(expected, step).backward();
      reference.step();
    }
    expect_close(weights, flat(expected), 1e-12, 20);
    // A gradient that is not finite is still found.
    weights[0].mutable_grad().fill_(std::nan(""));
    if (policy == NonFinite::throw_error) {
      EXPECT_THROW(optimizer.step(), NonFiniteError);
    } else {
      optimizer.step();
      EXPECT_TRUE(optimizer.report().non_finite);
    }
  }
}

TEST(Graph, AClosureStepsGradientRecipesAsTorchDoes) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const auto expected = fresh(problem.start);
  Adam optimizer(weights, AdamOptions(0.01));
  torch::optim::Adam reference(expected, torch::optim::AdamOptions(0.01));
  for (std::int64_t step = 1; step <= 20; ++step) {
    const auto closure = [&](torch::optim::Optimizer& of, const Weights& w) {
      of.zero_grad();
      auto value = problem.value_at(w, step);
      value.backward();
      return value;
    };
    const auto value = optimizer.step([&] { return closure(optimizer, weights); });
    const auto other = reference.step([&] { return closure(reference, expected); });
    EXPECT_NEAR(value.item<double>(), other.item<double>(), 1e-13);
  }
  expect_close(weights, flat(expected), 1e-12, 20);
}

TEST(Graph, AClosureIsRefusedWhereTheProbeNeedsThePredictions) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  for (const auto kind : {Preset::lehi, Preset::lehibrid, Preset::lehi_gn, Preset::sophia_g}) {
    const auto weights = fresh(problem.start);
    Optimizer optimizer(weights, preset(kind));
    problem.value_at(weights, 1).backward();
    EXPECT_THROW(optimizer.step(), std::invalid_argument);
    const auto message = message_of([&] { optimizer.step(); });
    EXPECT_NE(message.find("predictions"), std::string::npos) << message;
    EXPECT_TRUE(same_bits(flat(weights), flat(problem.start)));
  }
}

TEST(Graph, PredictionsWithoutAGraphAreRefused) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi optimizer(weights, LehiOptions(0.01));
  EXPECT_THROW(optimizer.step(problem.predict(weights, 1).detach(), *problem.loss, problem.targets(1)),
               std::invalid_argument);
}

TEST(Graph, AProbeThatTheLossDoesNotHaveIsRefusedByName) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  SophiaG optimizer(weights, SophiaGOptions(0.01));
  const auto message = message_of([&] { optimizer.step(problem.predict(weights, 1), Huber(), problem.targets(1)); });
  EXPECT_NE(message.find("sampled-label"), std::string::npos) << message;
  EXPECT_NE(message.find("huber"), std::string::npos) << message;
}

}  // namespace
}  // namespace lehi::testing
