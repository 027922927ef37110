// The state by name: taken from one optimizer, given to a new one, the next ten steps must be the same to the bit.
#include <algorithm>
#include <set>

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

using NamedState = Optimizer::NamedState;

NamedState cloned(const NamedState& state) {
  NamedState copy;
  for (const auto& [name, tensor] : state) copy.emplace_back(name, tensor.clone());
  return copy;
}

torch::OrderedDict<std::string, torch::Tensor> with_names(const Weights& weights) {
  torch::OrderedDict<std::string, torch::Tensor> named;
  for (std::size_t i = 0; i < weights.size(); ++i) named.insert("layer." + std::to_string(i), weights[i]);
  return named;
}

// Every preset, schedules that stop between two refreshes, and accumulators that no preset pairs with their rule.
std::vector<Options> named_state_cases() {
  auto all = lively_presets();
  Options amortised = preset(Preset::lehi_gn);
  amortised.recipe.schedule = {.every = 4, .dense = 3, .alternate = false};
  amortised.seed = 99;
  all.push_back(amortised);
  Options largest = preset(Preset::lehi);
  largest.recipe.accumulator = Accumulator::ema_max;
  all.push_back(largest);
  return all;
}

void expect_same_future(Optimizer& one, const Weights& of_one, Optimizer& other, const Weights& of_other,
                        const Problem& problem, std::int64_t first) {
  for (std::int64_t step = first; step < first + 10; ++step) {
    take_step(one, problem, of_one, step);
    take_step(other, problem, of_other, step);
    for (std::size_t i = 0; i < of_one.size(); ++i) {
      EXPECT_TRUE(same_bits(of_one[i], of_other[i])) << "weight " << i << " after step " << step;
    }
    EXPECT_EQ(one.report().refreshed, other.report().refreshed);
    EXPECT_EQ(one.report().second_pull_back, other.report().second_pull_back);
  }
}

NamedState state_after(Optimizer& optimizer, const Problem& problem, const Weights& weights, std::int64_t steps) {
  for (std::int64_t step = 1; step <= steps; ++step) take_step(optimizer, problem, weights, step);
  return cloned(optimizer.named_state());
}

TEST(NamedState, WhatNobodyElseHoldsIsTakenOver) {
  const auto problem = make_problem("network", torch::kFloat32);
  const auto weights = fresh(problem.start);
  Optimizer original(with_names(weights), LehiOptions(0.01));
  auto state = state_after(original, problem, weights, 5);
  std::set<const void*> given;
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> reserved;  // so that no new storage gets an old one's address
  for (const auto& [name, tensor] : state) {
    given.insert(tensor.storage().unsafeGetStorageImpl());
    reserved.push_back(tensor.storage().getWeakStorageImpl());
  }
  const auto held = state.back().second;

  const auto copies = fresh(weights);
  Optimizer restored(with_names(copies), LehiOptions(0.01));
  restored.load_named_state(std::move(state));
  std::size_t taken = 0;
  for (const auto& weight : copies) {
    const auto* kept = restored.find_state(weight);
    for (const auto& tensor : {kept->m, kept->v}) {
      taken += given.count(tensor.storage().unsafeGetStorageImpl());
      EXPECT_NE(tensor.data_ptr(), held.data_ptr()) << "somebody else may change it";
    }
  }
  EXPECT_EQ(taken, 2 * copies.size() - 1);
  expect_same_future(original, weights, restored, copies, problem, 6);
}

TEST(NamedState, TheNextTenStepsAreBitIdentical) {
  for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
    const auto problem = make_problem("network", dtype);
    for (const auto& options : named_state_cases()) {
      SCOPED_TRACE(options.name);
      const auto weights = fresh(problem.start);
      Optimizer original(with_names(weights), options);
      auto state = state_after(original, problem, weights, 15);
      std::reverse(state.begin(), state.end());  // the order must not matter

      const auto copies = fresh(weights);
      Optimizer restored(with_names(copies), options);
      restored.load_named_state(state);
      EXPECT_EQ(restored.steps(), 15);
      expect_same_future(original, weights, restored, copies, problem, 16);
    }
  }
}

TEST(NamedState, HasTheEntriesThatTheHeaderPromises) {
  const auto problem = make_problem("logistic", torch::kFloat32);
  const auto names = [&](const Options& options) {
    const auto weights = fresh({problem.start[0]});
    Optimizer optimizer(with_names(weights), options);
    take_step(optimizer, problem, {weights[0], problem.start[1]}, 1);
    std::string text;
    for (const auto& [name, tensor] : optimizer.named_state()) text += name + " ";
    return text;
  };
  const std::string own =
      "optimizer.step optimizer.schedule_start optimizer.known_parameters optimizer.recipe layer.0.step layer.0.covered ";
  EXPECT_EQ(names(LehiOptions(0.01)), own + "layer.0.m layer.0.v ");
  EXPECT_EQ(names(AmsgradOptions(0.01)), own + "layer.0.m layer.0.v layer.0.v_max ");
  EXPECT_EQ(names(NadamOptions(0.01)), own + "layer.0.m layer.0.v layer.0.momentum_product ");
  EXPECT_EQ(names(RmspropOptions(0.01)), own + "layer.0.v ");
  EXPECT_EQ(names(SgdOptions(0.01)), own);
  EXPECT_EQ(names(SgdOptions(0.01).momentum(0.9)), own + "layer.0.m ");
}

TEST(NamedState, GoesToAnotherOrderOfParametersAndGroups) {
  const auto problem = make_problem("network", torch::kFloat64);
  const Options options = LehiGnOptions(0.01).refresh_every(4, 2);
  const auto weights = fresh(problem.start);
  Optimizer original(with_names(weights), options);
  const auto state = state_after(original, problem, weights, 7);

  const auto copies = fresh(weights);
  Optimizer restored(groups_of({{copies[3], copies[1]}, {copies[2], copies[0]}}), options);
  restored.name_parameters(with_names(copies));
  restored.load_named_state(state);
  expect_same_future(original, weights, restored, copies, problem, 8);
}

TEST(NamedState, ParametersWithoutNamesUseTheirPlaces) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi original(weights, LehiOptions(0.01));
  const auto state = state_after(original, problem, weights, 3);
  EXPECT_TRUE(std::any_of(state.begin(), state.end(),
                          [](const auto& entry) { return entry.first == "parameter 1 of group 0.v"; }));
  const auto copies = fresh(weights);
  Lehi restored(copies, LehiOptions(0.01));
  restored.load_named_state(state);
  expect_same_future(original, weights, restored, copies, problem, 4);
}

// weights[2] and [3] joined at step 6: the schedule started again there, and their counts are their own.
TEST(NamedState, AScheduleThatStartedAgainGoesOnWhereItWas) {
  const auto problem = make_problem("network", torch::kFloat64);
  const Options options = LehiGnOptions(0.01).refresh_every(4, 2);
  const auto weights = fresh(problem.start);
  Optimizer original(Weights{weights[0], weights[1]}, options);
  for (std::int64_t step = 1; step <= 5; ++step) take_step(original, problem, weights, step);
  original.add_param_group(torch::optim::OptimizerParamGroup(Weights{weights[2], weights[3]}));
  for (std::int64_t step = 6; step <= 9; ++step) take_step(original, problem, weights, step);

  const auto copies = fresh(weights);
  Optimizer restored(groups_of({{copies[0], copies[1]}, {copies[2], copies[3]}}), options);
  restored.load_named_state(original.named_state());
  expect_same_future(original, weights, restored, copies, problem, 10);
}

TEST(NamedState, BeforeTheFirstStepIsAStateToo) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi original(weights, LehiOptions(0.01));
  const auto copies = fresh(weights);
  Lehi used(copies, LehiOptions(0.01));
  take_step(used, problem, copies, 1);
  used.load_named_state(original.named_state());
  EXPECT_EQ(used.steps(), 0);
  {
    torch::NoGradGuard guard;
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i].copy_(weights[i]);
  }
  expect_same_future(original, weights, used, copies, problem, 1);
}

TEST(NamedState, LoadingCopiesWhatItIsGiven) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi original(weights, LehiOptions(0.01));
  auto state = state_after(original, problem, weights, 3);
  const auto copies = fresh(weights);
  Lehi restored(copies, LehiOptions(0.01));
  restored.load_named_state(state);
  for (auto& [name, tensor] : state) tensor.zero_();
  expect_same_future(original, weights, restored, copies, problem, 4);
}

// Each change of a good state is refused with its sentence, and the optimizer goes on as if nothing had been.
TEST(NamedState, WhatDoesNotFitIsRefusedAndChangesNothing) {
  const auto problem = make_problem("logistic", torch::kFloat32);
  const auto weights = fresh(problem.start);
  Nadam optimizer(with_names(weights), NadamOptions(0.01));
  const auto good = state_after(optimizer, problem, weights, 3);
  const auto place = [&](const std::string& name) {
    const auto found = std::find_if(good.begin(), good.end(), [&](const auto& entry) { return entry.first == name; });
    return found - good.begin();
  };
  const auto without = [&](const std::string& name) {
    auto state = cloned(good);
    state.erase(state.begin() + place(name));
    return state;
  };
  const auto changed = [&](const std::string& name, const torch::Tensor& tensor) {
    auto state = cloned(good);
    state.at(static_cast<std::size_t>(place(name))).second = tensor;
    return state;
  };
  const auto with = [&](const std::string& name) {
    auto state = cloned(good);
    state.emplace_back(name, torch::zeros({4}));
    return state;
  };
  const auto count = [](std::int64_t value) { return torch::scalar_tensor(value, torch::kInt64); };
  const std::vector<std::pair<NamedState, std::string>> cases = {
      {without("layer.0.m"), "the optimizer's state has no 'layer.0.m'"},
      {without("layer.1.covered"), "the optimizer's state has no 'layer.1.covered'"},
      {without("layer.1.momentum_product"), "the optimizer's state has no 'layer.1.momentum_product'"},
      {without("optimizer.step"), "the optimizer's state has no 'optimizer.step'"},
      {with("layer.0.v_max"),
       "the optimizer's state has 'layer.0.v_max', which nadam with these parameters does not keep"},
      {with("layer.7.m"), "the optimizer's state has 'layer.7.m', which nadam with these parameters does not keep"},
      {with("layer.0.m"), "the optimizer's state has 'layer.0.m' twice"},
      {changed("layer.0.v", torch::zeros({5})),
       "the optimizer's state has 'layer.0.v' as Float [5]; expected Float [4]"},
      {changed("layer.0.v", torch::zeros({4}, torch::kFloat64)),
       "the optimizer's state has 'layer.0.v' as Double [4]; expected Float [4]"},
      {changed("layer.0.step", torch::scalar_tensor(3.0)),
       "the optimizer's state has 'layer.0.step' as Float []; expected Long []"},
      {changed("layer.1.momentum_product", torch::scalar_tensor(1.0, torch::kFloat64)),
       "the optimizer's state has 1 as 'layer.1.momentum_product'; expected a product of numbers in [0, 1)"},
      {changed("layer.1.covered", count(INT64_MAX)),
       "the optimizer's state has 9223372036854775807 as 'layer.1.covered'; expected a count, 0 or above"},
      {changed("layer.1.momentum_product", torch::scalar_tensor(0.5)),
       "the optimizer's state has 'layer.1.momentum_product' as Float []; expected Double []"},
      {changed("optimizer.step", count(-1)),
       "the optimizer's state has -1 as 'optimizer.step'; expected a count, 0 or above"},
      {changed("layer.0.m", torch::Tensor()), "the optimizer's state has an undefined tensor as 'layer.0.m'"},
  };
  for (const auto& [state, sentence] : cases) {
    EXPECT_THROW(optimizer.load_named_state(state), std::invalid_argument);
    EXPECT_EQ(message_of([&] { optimizer.load_named_state(state); }), sentence);
  }
  const auto copies = fresh(weights);
  Nadam untouched(with_names(copies), NadamOptions(0.01));
  untouched.load_named_state(good);
  expect_same_future(optimizer, weights, untouched, copies, problem, 4);
}

TEST(NamedState, NamesThatCannotBeToldApartAreRefused) {
  const auto weights = fresh(make_problem("logistic", torch::kFloat64).start);
  Optimizer twins(weights, LehiOptions(0.01));
  for (const auto& weight : weights) {
    torch::OrderedDict<std::string, torch::Tensor> named;
    named.insert("w", weight);
    twins.name_parameters(named);
  }
  EXPECT_EQ(message_of([&] { twins.named_state(); }),
            "two parameters are called 'w': a named state cannot tell them apart");
  torch::OrderedDict<std::string, torch::Tensor> named;
  named.insert("optimizer", weights[0]);
  Optimizer reserved(named, LehiOptions(0.01));
  EXPECT_EQ(message_of([&] { reserved.named_state(); }),
            "a parameter is called 'optimizer', which in a named state is the optimizer itself");
}

}  // namespace
}  // namespace lehi::testing
