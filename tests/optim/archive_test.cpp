// Save, load into a new optimizer, and go on: the next ten steps must be the same to the bit.
#include <sstream>

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

std::string saved(const Optimizer& optimizer) {
  std::ostringstream stream;
  torch::save(optimizer, stream);
  return stream.str();
}

void load(Optimizer& optimizer, const std::string& bytes) {
  std::istringstream stream(bytes);
  torch::load(optimizer, stream);
}

// Every preset, and the schedules that leave the archive between two refreshes.
std::vector<Options> cases() {
  auto all = lively_presets();
  Options amortised = preset(Preset::lehi);
  amortised.recipe.schedule = {.every = 4, .dense = 3, .alternate = false};
  all.push_back(amortised);
  Options sparse = preset(Preset::lehi_gn);
  sparse.recipe.schedule = {.every = 10, .dense = 2, .alternate = false};
  sparse.seed = 99;
  all.push_back(sparse);
  Options mixed = preset(Preset::lehibrid);
  mixed.recipe.schedule = {.every = 5, .dense = 0, .alternate = true};
  all.push_back(mixed);
  return all;
}

TEST(Archive, TheNextTenStepsAfterLoadingAreBitIdentical) {
  for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
    const auto problem = make_problem("network", dtype);
    for (const auto& options : cases()) {
      SCOPED_TRACE(options.name + " every " + std::to_string(options.recipe.schedule.every));
      const auto weights = fresh(problem.start);
      Optimizer original(weights, options);
      for (std::int64_t step = 1; step <= 15; ++step) take_step(original, problem, weights, step);

      const auto copies = fresh(weights);
      Options blank = preset(options.name);  // rate and seed come from the archive, the recipe from the program
      blank.recipe = options.recipe;
      Optimizer restored(copies, blank);
      load(restored, saved(original));
      EXPECT_EQ(restored.steps(), 15);
      for (std::int64_t step = 16; step <= 25; ++step) {
        take_step(original, problem, weights, step);
        take_step(restored, problem, copies, step);
        for (std::size_t i = 0; i < weights.size(); ++i) {
          EXPECT_TRUE(same_bits(weights[i], copies[i])) << "weight " << i << " after step " << step;
        }
        EXPECT_EQ(restored.report().refreshed, original.report().refreshed);
        EXPECT_EQ(restored.report().second_pull_back, original.report().second_pull_back);
      }
    }
  }
}

TEST(Archive, LoadingOverAUsedOptimizerForgetsItsState) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi original(weights, LehiOptions(0.01));
  for (std::int64_t step = 1; step <= 5; ++step) take_step(original, problem, weights, step);
  const auto copies = fresh(weights);
  Lehi used(copies, LehiOptions(0.3));
  for (std::int64_t step = 1; step <= 3; ++step) take_step(used, problem, copies, step);
  {
    torch::NoGradGuard guard;
    for (std::size_t i = 0; i < copies.size(); ++i) copies[i].copy_(weights[i]);
  }
  load(used, saved(original));
  for (std::int64_t step = 6; step <= 15; ++step) {
    take_step(original, problem, weights, step);
    take_step(used, problem, copies, step);
  }
  EXPECT_TRUE(same_bits(flat(weights), flat(copies)));
}

TEST(Archive, AScheduleThatStartedAgainGoesOnWhereItWas) {
  const auto problem = make_problem("network", torch::kFloat64);
  const Options options = LehiGnOptions(0.01).refresh_every(4, 2);
  const auto weights = fresh(problem.start);
  Optimizer original(Weights{weights[0], weights[1]}, options);
  for (std::int64_t step = 1; step <= 5; ++step) take_step(original, problem, weights, step);
  original.add_param_group(torch::optim::OptimizerParamGroup(Weights{weights[2], weights[3]}));
  for (std::int64_t step = 6; step <= 9; ++step) take_step(original, problem, weights, step);

  const auto copies = fresh(weights);
  Optimizer restored(groups_of({{copies[0], copies[1]}, {copies[2], copies[3]}}), options);
  load(restored, saved(original));
  for (std::int64_t step = 10; step <= 19; ++step) {
    take_step(original, problem, weights, step);
    take_step(restored, problem, copies, step);
    EXPECT_TRUE(same_bits(flat(weights), flat(copies))) << "after step " << step;
    EXPECT_EQ(restored.report().refreshed, original.report().refreshed);
  }
}

TEST(Archive, GroupOptionsComeBack) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  GroupOptions slow = preset(Preset::lehi).group;
  slow.lr = 1e-4;
  slow.beta1 = 0.3;
  slow.beta2 = 0.7;
  slow.eps = 0.125;
  slow.weight_decay = 0.01;
  auto groups = groups_of({{weights[0]}, {weights[1]}});
  groups[1].set_options(std::make_unique<GroupOptions>(slow));
  Optimizer original(groups, LehiOptions(0.01));
  take_step(original, problem, weights, 1);
  original.param_groups()[0].options().set_lr(0.5);
  const auto copies = fresh(weights);
  Optimizer restored(groups_of({{copies[0]}, {copies[1]}}), LehiOptions(0.02));
  load(restored, saved(original));
  EXPECT_EQ(restored.param_groups()[0].options().get_lr(), 0.5);
  const auto& second = static_cast<const GroupOptions&>(restored.param_groups()[1].options());
  EXPECT_EQ(second.lr, 1e-4);
  EXPECT_EQ(second.beta1, 0.3);
  EXPECT_EQ(second.beta2, 0.7);
  EXPECT_EQ(second.eps, 0.125);
  EXPECT_EQ(second.weight_decay, 0.01);
}

TEST(Archive, AStateOfAnotherOptimizerIsRefused) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Adam adam(weights, AdamOptions(0.01));
  take_step(adam, problem, weights, 1);
  const auto bytes = saved(adam);

  const auto others = fresh(problem.start);
  Lehi lehi(others, LehiOptions(0.01));
  take_step(lehi, problem, others, 1);
  const auto before = saved(lehi);
  EXPECT_THROW(load(lehi, bytes), std::invalid_argument);
  const auto message = message_of([&] { load(lehi, bytes); });
  EXPECT_NE(message.find("adam"), std::string::npos) << message;
  EXPECT_NE(message.find("lehi"), std::string::npos) << message;
  EXPECT_EQ(saved(lehi), before) << "a refused archive must leave the optimizer as it was";
}

TEST(Archive, AStateOfAnotherRecipeIsRefusedByItsPart) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Options ema = preset(Preset::lehi);
  ema.recipe.accumulator = Accumulator::ema;  // v is smaller by 1 - beta2, under the same name
  Optimizer original(weights, ema);
  take_step(original, problem, weights, 1);
  const auto copies = fresh(problem.start);
  Lehi other(copies, LehiOptions(0.01));
  take_step(other, problem, copies, 1);
  const auto before = saved(other);
  EXPECT_EQ(message_of([&] { load(other, saved(original)); }),
            "the archive was saved with another recipe: accumulator=ema there, accumulator=running-sum here");
  EXPECT_EQ(message_of([&] { other.load_named_state(original.named_state()); }),
            "the optimizer's state was saved with another recipe: accumulator=ema there, accumulator=running-sum here");
  EXPECT_EQ(saved(other), before) << "a rejected state must leave the optimizer as it was";
}

TEST(Archive, AStateOfVersion01HasNoRecipeAndIsTaken) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Lehi original(weights, LehiOptions(0.01));
  for (std::int64_t step = 1; step <= 3; ++step) take_step(original, problem, weights, step);
  auto state = original.named_state();
  std::erase_if(state, [](const auto& entry) { return entry.first == "optimizer.recipe"; });
  const auto copies = fresh(weights);
  Lehi restored(copies, LehiOptions(0.01));
  restored.load_named_state(state);
  take_step(original, problem, weights, 4);
  take_step(restored, problem, copies, 4);
  EXPECT_TRUE(same_bits(flat(weights), flat(copies)));
}

TEST(Archive, AStateOfAnotherModelIsRefused) {
  const auto problem = make_problem("logistic", torch::kFloat64);
  const auto weights = fresh(problem.start);
  Adam adam(weights, AdamOptions(0.01));
  take_step(adam, problem, weights, 1);
  const auto bytes = saved(adam);

  const auto network_weights = fresh(make_problem("network", torch::kFloat64).start);
  Adam more(network_weights, AdamOptions(0.01));
  EXPECT_NE(message_of([&] { load(more, bytes); }), "") << "4 parameters instead of 2";
  const auto wrong_shape = fresh({torch::zeros({7}, torch::kFloat64), torch::zeros({1}, torch::kFloat64)});
  Adam misshapen(wrong_shape, AdamOptions(0.01));
  EXPECT_NE(message_of([&] { load(misshapen, bytes); }), "") << "7 weights instead of 4";
}

TEST(Archive, AnImpossibleShapeIsRefused) {
  const auto message_with = [](std::int64_t value) {
    ParameterState state;
    state.matrix = static_cast<MatrixState>(value);
    std::stringstream stream;
    torch::serialize::OutputArchive written;
    state.serialize(written);
    written.save_to(stream);
    torch::serialize::InputArchive archive;
    archive.load_from(stream);
    return message_of([&] { ParameterState().serialize(archive); });
  };
  EXPECT_EQ(message_with(4), "");
  EXPECT_EQ(message_with(5), "the archive has 5 as how a parameter is taken as a matrix; expected 0 to 4");
  EXPECT_EQ(message_with(-1), "the archive has -1 as how a parameter is taken as a matrix; expected 0 to 4");
}

TEST(Archive, AVectorThatWasSavedAsAMatrixIsRefused) {
  const auto vector = fresh({torch::ones({4}, torch::kFloat64)});
  Optimizer original(vector, SoapOptions(0.01));
  original.step(vector[0] * 2.0, MeanSquaredError(), torch::zeros({4}, torch::kFloat64));
  const_cast<ParameterState*>(original.find_state(vector[0]))->matrix = MatrixState::left;  // as a damaged file has it
  const auto copy = fresh(vector);
  Optimizer other(copy, SoapOptions(0.01));
  EXPECT_EQ(message_of([&] { load(other, saved(original)); }),
            "parameter 0 of group 0 is no matrix, but one in the archive");
}

}  // namespace
}  // namespace lehi::testing
