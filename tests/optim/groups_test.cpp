// Parameter groups with their own numbers, groups added in mid-training, torch's schedulers, and the two ways to group
// parameters by shape and by name.
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

GroupOptions with_rate(const Options& options, double lr) {
  GroupOptions group = options.group;
  group.lr = lr;
  return group;
}

torch::optim::OptimizerParamGroup group_of(Weights weights, const GroupOptions& options) {
  return {std::move(weights), std::make_unique<GroupOptions>(options)};
}

const GroupOptions& options_of(const torch::optim::OptimizerParamGroup& group) {
  return dynamic_cast<const GroupOptions&>(group.options());
}

TEST(Groups, EachGroupFollowsItsOwnOptions) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const auto expected = fresh(problem.start);
  GroupOptions own = preset(Preset::adamw).group;
  own.lr = 0.03;
  own.beta1 = 0.5;
  own.beta2 = 0.9;
  own.eps = 1e-3;
  own.weight_decay = 0.4;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(Weights{weights[0], weights[1]});
  groups.push_back(group_of({weights[2], weights[3]}, own));
  Optimizer optimizer(groups, AdamWOptions(0.01));

  using TorchOptions = torch::optim::AdamWOptions;
  std::vector<torch::optim::OptimizerParamGroup> reference_groups;
  reference_groups.emplace_back(Weights{expected[0], expected[1]});
  reference_groups.emplace_back(
      Weights{expected[2], expected[3]},
      std::make_unique<TorchOptions>(TorchOptions(0.03).betas({0.5, 0.9}).eps(1e-3).weight_decay(0.4)));
  torch::optim::AdamW reference(reference_groups, TorchOptions(0.01));
  for (std::int64_t step = 1; step <= 50; ++step) {
    take_step(optimizer, problem, weights, step);
    reference.zero_grad();
    problem.value_at(expected, step).backward();
    reference.step();
  }
  expect_close(weights, flat(expected), 1e-12, 50);
}

TEST(Groups, ABadNumberInAGroupIsRefused) {
  const auto weights = fresh(make_problem("logistic", torch::kFloat64).start);
  GroupOptions bad = preset(Preset::lehi).group;
  bad.beta2 = 1.5;
  std::vector<torch::optim::OptimizerParamGroup> groups{group_of(weights, bad)};
  const auto message = message_of([&] { Optimizer(groups, LehiOptions(0.01)); });
  EXPECT_NE(message.find("1.5"), std::string::npos) << message;
}

TEST(Groups, StepLrChangesTheRateOfEveryGroup) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  const Options options = LehiOptions(0.1);
  std::vector<torch::optim::OptimizerParamGroup> groups{group_of({weights[0]}, with_rate(options, 0.1)),
                                                        group_of({weights[1]}, with_rate(options, 0.2))};
  Optimizer optimizer(groups, options);
  torch::optim::StepLR scheduler(optimizer, 2, 0.5);

  const auto expected = fresh(problem.start);
  std::vector<torch::optim::OptimizerParamGroup> others{group_of({expected[0]}, with_rate(options, 0.1)),
                                                        group_of({expected[1]}, with_rate(options, 0.2))};
  Optimizer reference(others, options);
  for (std::int64_t step = 1; step <= 6; ++step) {
    // torch's C++ StepLR counts its first call as 0, so the first halving comes with the third call.
    const double factor = std::pow(0.5, static_cast<double>(std::max<std::int64_t>(step - 2, 0) / 2));
    reference.param_groups()[0].options().set_lr(0.1 * factor);
    reference.param_groups()[1].options().set_lr(0.2 * factor);
    EXPECT_DOUBLE_EQ(optimizer.param_groups()[1].options().get_lr(), 0.2 * factor);
    take_step(optimizer, problem, weights, step);
    take_step(reference, problem, expected, step);
    scheduler.step();
  }
  EXPECT_TRUE(same_bits(flat(weights), flat(expected)));
}

// Between two refreshes a new parameter has v = 0: without a refresh of its own its step would be lr m / eps.
TEST(Groups, AGroupAddedBetweenRefreshesGetsARefreshAndDoesNotExplode) {
  const auto problem = make_problem("network", torch::kFloat64);
  for (const auto& options :
       {Options(LehiGnOptions(0.01).mix(Mix::none).refresh_every(10, 2)),
        Options(LehiOptions(0.01).eps(1e-12).refresh_every(10, 2)), Options(SophiaGOptions(0.01))}) {
    SCOPED_TRACE(options.name);
    const auto weights = fresh(problem.start);
    Optimizer optimizer(Weights{weights[0], weights[1]}, options);
    for (std::int64_t step = 1; step <= 6; ++step) take_step(optimizer, problem, weights, step);
    ASSERT_FALSE(optimizer.report().refreshed);
    EXPECT_TRUE(same_bits(weights[2], problem.start[2])) << "not yet the optimizer's";

    optimizer.add_param_group(torch::optim::OptimizerParamGroup(Weights{weights[2], weights[3]}));
    const auto old_before = fresh({weights[0], weights[1]});
    take_step(optimizer, problem, weights, 7);
    EXPECT_TRUE(optimizer.report().refreshed);
    EXPECT_TRUE(optimizer.report().second_pull_back);
    EXPECT_FALSE(same_bits(weights[2], problem.start[2]));
    // The step is lr |g / s|, s one random draw that may be small; an unprotected one would be lr |g| / eps, 1e6 times
    // lr and more.
    EXPECT_LT((weights[2] - problem.start[2]).abs().max().item<double>(), 1000 * 0.01);
    EXPECT_LT((weights[3] - problem.start[3]).abs().max().item<double>(), 1000 * 0.01);
    EXPECT_LT((weights[0] - old_before[0]).abs().max().item<double>(), 100 * 0.01);
    for (std::int64_t step = 8; step <= 60; ++step) take_step(optimizer, problem, weights, step);
    EXPECT_LT(problem.value_at(weights, 1).item<double>(), problem.value_at(problem.start, 1).item<double>());
  }
}

// One noisy draw is not enough to live on: the newcomers get the schedule from its beginning, dense start included.
TEST(Groups, AnAddedGroupStartsTheScheduleAgain) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto weights = fresh(problem.start);
  LehiGn optimizer(Weights{weights[0], weights[1]}, LehiGnOptions(0.01).mix(Mix::none).refresh_every(4, 2));
  std::string refreshes;
  for (std::int64_t step = 1; step <= 15; ++step) {
    if (step == 9) optimizer.add_param_group(torch::optim::OptimizerParamGroup(Weights{weights[2], weights[3]}));
    take_step(optimizer, problem, weights, step);
    refreshes += optimizer.report().refreshed ? 'x' : '.';
  }
  EXPECT_EQ(refreshes, "xxx...x.xxx...x");
  EXPECT_EQ(optimizer.find_state(weights[2])->step, 7);
  EXPECT_EQ(optimizer.find_state(weights[2])->steps_covered, 1 + 1 + 4 + 4);
}

TEST(Groups, AnAddedAdamGroupStartsItsOwnStepCount) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Adam optimizer(Weights{weights[0]}, AdamOptions(0.01).eps(0.0));
  for (std::int64_t step = 1; step <= 4; ++step) take_step(optimizer, problem, weights, step);
  optimizer.add_param_group(torch::optim::OptimizerParamGroup(Weights{weights[1]}));
  take_step(optimizer, problem, weights, 5);
  const double moved = (weights[1] - problem.start[1]).item<double>();
  EXPECT_NEAR(std::abs(moved), 0.01, 1e-12) << "bias-corrected, its first step is lr exactly";
}

torch::OrderedDict<std::string, torch::Tensor> named_network() {
  const auto weights = fresh(make_problem("network", torch::kFloat64).start);
  torch::OrderedDict<std::string, torch::Tensor> named;
  named.insert("body.weight", weights[0]);
  named.insert("body.bias", weights[1]);
  named.insert("head.weight", weights[2]);
  named.insert("head.bias", weights[3]);
  return named;
}

TEST(Groups, DecayMatricesOnlySparesBiases) {
  const auto named = named_network();
  GroupOptions options = preset(Preset::adamw).group;
  options.lr = 0.02;
  options.weight_decay = 0.3;
  const auto groups = decay_matrices_only(named, options);
  ASSERT_EQ(groups.groups.size(), 2U);
  std::size_t members = 0;
  for (const auto& group : groups.groups) {
    EXPECT_EQ(options_of(group).lr, 0.02);
    for (const auto& parameter : group.params()) {
      ++members;
      EXPECT_EQ(options_of(group).weight_decay, parameter.dim() >= 2 ? 0.3 : 0.0);
    }
  }
  EXPECT_EQ(members, 4U);
}

TEST(Groups, GroupsByNameTakeTheFirstRuleThatFits) {
  const auto named = named_network();
  const auto base = preset(Preset::lehi);
  const auto groups =
      groups_by_name(named, {{"bias", with_rate(base, 0.1)}, {"head", with_rate(base, 0.2)}}, with_rate(base, 0.3));
  ASSERT_EQ(groups.groups.size(), 3U);
  EXPECT_EQ(options_of(groups.groups[0]).lr, 0.1);
  ASSERT_EQ(groups.groups[0].params().size(), 2U);
  EXPECT_TRUE(groups.groups[0].params()[0].is_same(named["body.bias"]));
  EXPECT_TRUE(groups.groups[0].params()[1].is_same(named["head.bias"]));
  EXPECT_EQ(options_of(groups.groups[1]).lr, 0.2);
  ASSERT_EQ(groups.groups[1].params().size(), 1U);
  EXPECT_TRUE(groups.groups[1].params()[0].is_same(named["head.weight"]));
  EXPECT_EQ(options_of(groups.groups[2]).lr, 0.3);
  ASSERT_EQ(groups.groups[2].params().size(), 1U);
  EXPECT_TRUE(groups.groups[2].params()[0].is_same(named["body.weight"]));
}

TEST(Groups, ParametersHaveTheirNamesOrTheirPlaces) {
  const auto named = named_network();
  Lehi with_names(named, LehiOptions(0.01));
  EXPECT_EQ(with_names.parameter_name(0, 2), "head.weight");
  Optimizer grouped(decay_matrices_only(named, preset(Preset::lehi).group), LehiOptions(0.01));
  EXPECT_EQ(grouped.parameter_name(0, 1), "head.weight") << "groups made from named parameters keep the names";
  EXPECT_EQ(grouped.parameter_name(1, 0), "body.bias");
  Optimizer unnamed(decay_matrices_only(named, preset(Preset::lehi).group).groups, LehiOptions(0.01));
  EXPECT_EQ(unnamed.parameter_name(1, 0), "parameter 0 of group 1");
  unnamed.name_parameters(named);
  EXPECT_EQ(unnamed.parameter_name(1, 0), "body.bias");
}

TEST(Groups, AParameterListedTwiceIsRefused) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto w = fresh(problem.start);
  EXPECT_THROW(Lehi(Weights{w[0], w[1], w[0]}, LehiOptions(0.01)), std::invalid_argument)
      << "it would be stepped twice, silently";
}

}  // namespace
}  // namespace lehi::testing
