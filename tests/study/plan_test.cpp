#include "study/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "study/fake.h"
#include "support/support.h"

namespace lehi::study {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

PlanRequest small_request() {
  PlanRequest request;
  request.tasks = {"protein"};
  request.optimizers = {"lehi", "adam"};
  request.seeds = {0, 1};
  return request;
}

std::vector<std::string> names_of(const std::vector<PlannedRun>& plan) {
  std::vector<std::string> names;
  for (const auto& run : plan) names.push_back(run.directory);
  return names;
}

std::string error_for(PlanRequest request) {
  return testing::message_of([&] { testing::make_plan(request); });
}

TEST(Plan, UsesTheOwnRateOfEveryOptimizerAndPutsSeedsOutermost) {
  const auto plan = testing::make_plan(small_request());
  EXPECT_THAT(names_of(plan), ElementsAre("protein-lehi-lr0.1-seed0", "protein-adam-lr0.001-seed0",
                                          "protein-lehi-lr0.1-seed1", "protein-adam-lr0.001-seed1"));
  EXPECT_EQ(plan[3].config.seed, 1U);
  EXPECT_EQ(plan[3].config.optimizer.seed, 1U);
  EXPECT_EQ(plan[3].config.optimizer.name, "adam");
  EXPECT_EQ(plan[3].config.epochs, 200);
  EXPECT_EQ(plan[3].config.threads, 1);
}

TEST(Plan, UsesTheGridOfThePresetOrTheGivenRates) {
  auto request = small_request();
  request.default_rates = Rates::grid;
  EXPECT_EQ(testing::make_plan(request).size(), 2U * 7U * 2U);
  request.rates = {3e-3, 1e-4};
  request.seeds = {7};
  EXPECT_THAT(names_of(testing::make_plan(request)),
              ElementsAre("protein-lehi-lr0.0001-seed7", "protein-adam-lr0.0001-seed7", "protein-lehi-lr0.003-seed7",
                          "protein-adam-lr0.003-seed7"));
}

TEST(Plan, VariantsChangeTheirOwnKeysOnly) {
  auto request = small_request();
  request.optimizers = {"lehi", "lehi[eps=1e-3,refresh_every=5]", "sgd[lr=0.25,momentum=0.9]"};
  request.rates = {1e-2};
  request.seeds = {0};
  request.settings = {{"optimizer.beta1", "0.8", "--set"}, {"train.epochs", "3", "--epochs"}};
  const auto plan = testing::make_plan(request);
  ASSERT_EQ(plan.size(), 3U);
  EXPECT_EQ(plan[0].config.optimizer.group.eps, 1e-7);
  EXPECT_EQ(plan[1].config.optimizer.group.eps, 1e-3);
  EXPECT_EQ(plan[1].config.optimizer.recipe.schedule.every, 5);
  EXPECT_EQ(plan[1].config.optimizer.group.beta1, 0.8);
  EXPECT_EQ(plan[1].config.epochs, 3);
  EXPECT_EQ(plan[1].variant, "lehi[eps=1e-3,refresh_every=5]");
  EXPECT_EQ(plan[1].directory, "protein-lehi_eps_1e-3_refresh_every_5-lr0.01-seed0");
  EXPECT_EQ(plan[2].config.optimizer.group.lr, 0.25) << "its own rate replaces the grid";
}

TEST(Plan, MomentumControlUsesLehisRatesDividedByTheRootOfEps) {
  auto request = small_request();
  request.tasks = {"mnist"};
  request.optimizers = {"lehi", "momentum-control"};
  request.rates = {1e-3, 3e-3};
  request.seeds = {0};
  const auto plan = testing::make_plan(request);
  ASSERT_EQ(plan.size(), 4U);
  EXPECT_EQ(plan[1].config.optimizer.name, "sgd");
  EXPECT_EQ(plan[1].config.optimizer.group.lr, 0.01);  // 1e-3 / sqrt(1e-2)
  EXPECT_EQ(plan[3].config.optimizer.group.lr, 0.03);
  EXPECT_EQ(plan[1].config.optimizer.group.momentum, 0.9);
  EXPECT_EQ(plan[1].config.optimizer.group.dampening, 0.9);
  request.rates.clear();
  EXPECT_EQ(testing::make_plan(request)[1].config.optimizer.group.lr, 0.03) << "lehi's own rate is 3e-3";
}

TEST(Plan, UsesTheRatesOfSingleOptimizers) {
  auto request = small_request();
  request.rates = {1e-2};
  request.rates_of["adam"] = {1e-3, 1e-4};
  request.seeds = {0};
  EXPECT_THAT(names_of(testing::make_plan(request)),
              ElementsAre("protein-lehi-lr0.01-seed0", "protein-adam-lr0.0001-seed0", "protein-adam-lr0.001-seed0"));
  request.rates_of["adamm"] = {1e-3};
  EXPECT_THAT(error_for(request), AllOf(HasSubstr("adamm"), HasSubstr("did you mean 'adam'?")));
  request.rates_of = {{"adam", {1e-3, 1e-3}}};
  EXPECT_THAT(error_for(request), HasSubstr("twice"));
  request.rates_of = {{"adam", {-1e-3}}};
  EXPECT_THAT(error_for(request), HasSubstr("greater than 0"));
}

TEST(Plan, PutsSeedsBeforeTasksInSeveralRequests) {
  auto first = small_request();
  first.optimizers = {"adam"};
  auto second = first;
  second.tasks = {"mnist"};
  second.seeds = {5};
  EXPECT_THAT(names_of(make_study_plan({first, second}).runs),
              ElementsAre("protein-adam-lr0.001-seed0", "mnist-adam-lr0.0003-seed5", "protein-adam-lr0.001-seed1"));
  EXPECT_THAT(testing::message_of([&] { make_study_plan({first, first}); }), HasSubstr("protein twice"));
  EXPECT_THAT(testing::message_of([] { make_study_plan({}); }), HasSubstr("no task"));
}

TEST(Plan, DirectoryNamesAreUnique) {
  auto request = small_request();
  request.optimizers = {"lehi[eps=1e-3]", "lehi[eps=1e-3,]", "lehi[weight_decay=0.1]"};
  const auto names = names_of(testing::make_plan(request));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(Plan, RejectsInvalidEmptyAndRepeatedEntries) {
  auto request = small_request();
  request.seeds = {1, 2, 1};
  EXPECT_THAT(error_for(request), HasSubstr("the seed 1 twice"));
  request.seeds.clear();
  EXPECT_THAT(error_for(request), HasSubstr("no seed"));
  request = small_request();
  request.optimizers = {"adam", "adam"};
  EXPECT_THAT(error_for(request), HasSubstr("the optimizer adam twice"));
  request.optimizers.clear();
  EXPECT_THAT(error_for(request), HasSubstr("no optimizer"));
  request.optimizers = {"adamm"};
  EXPECT_THAT(error_for(request), HasSubstr("'adamm'"));
  request.optimizers = {"adam[colour=1]"};
  EXPECT_THAT(error_for(request), HasSubstr("optimizer.colour"));
  request = small_request();
  request.rates = {1e-3, -1e-3};
  EXPECT_THAT(error_for(request), HasSubstr("-0.001"));
  request.rates = {0.0};
  EXPECT_THAT(error_for(request), HasSubstr("greater than 0"));
  request.rates = {0.1, 0.1};
  EXPECT_THAT(error_for(request), HasSubstr("twice"));
  request = small_request();
  request.tasks = {"everest"};
  EXPECT_THAT(error_for(request), HasSubstr("everest"));
  request.tasks.clear();
  EXPECT_THAT(error_for(request), HasSubstr("no task"));
  request = small_request();
  request.preset = "huge";
  EXPECT_THAT(error_for(request), HasSubstr("huge"));
}

}  // namespace
}  // namespace lehi::study
