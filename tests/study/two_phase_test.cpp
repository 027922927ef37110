#include "study/two_phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/fake.h"
#include "study/stored_plan.h"
#include "support/support.h"
#include "train/scratch.h"

namespace lehi::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Scratch;

PlanRequest two_phase_request() {
  PlanRequest request;
  request.tasks = {"mnist"};
  request.optimizers = {"lehi", "sgd[lr=0.25]", "momentum-control"};
  request.rates = {1e-3, 3e-3, 1e-2};
  request.seeds = {0, 1, 2};
  request.best = 2;
  return request;
}

/// Ends a run with this accuracy; NaN: diverged.
void end_run(StudyRun& run, double accuracy) {
  run.status = std::isfinite(accuracy) ? train::RunStatus::done : train::RunStatus::diverged;
  if (run.done()) run.windows["test_accuracy"] = window_over("test_accuracy", {accuracy, accuracy});
}

StudyRun& run_at(Study& study, const std::string& variant, double lr) {
  for (auto& run : study.runs) {
    if (run.variant == variant && run.lr == lr) return run;
  }
  throw std::runtime_error("no such run");
}

std::vector<std::string> directories_of(const std::vector<PlannedRun>& runs) {
  std::vector<std::string> names;
  for (const auto& run : runs) names.push_back(run.directory);
  return names;
}

/// A study whose first phase has ended: 3e-3 and 1e-2 are lehi's best, the control diverged at all but one rate.
struct TwoPhaseStudy {
  StudyPlan plan = make_study_plan({two_phase_request()});
  std::vector<PlannedRun> candidates = second_phase_candidates(plan.runs, plan.second_phases);
  Study study = new_study("sweep", {"lehi", "sweep"}, plan.runs);

  TwoPhaseStudy() {
    study.second_phases = plan.second_phases;
    end_run(run_at(study, "lehi", 1e-3), 90.0);
    end_run(run_at(study, "lehi", 3e-3), 97.0);
    end_run(run_at(study, "lehi", 1e-2), 96.0);
    end_run(run_at(study, "sgd[lr=0.25]", 0.25), 91.0);
    end_run(run_at(study, "momentum-control", 0.01), 95.0);
    end_run(run_at(study, "momentum-control", 0.03), NAN);
    end_run(run_at(study, "momentum-control", 0.1), NAN);
  }
};

TEST(TwoPhases, TheFirstIsEveryRateWithTheFirstSeed) {
  const auto plan = make_study_plan({two_phase_request()});
  EXPECT_EQ(plan.runs.size(), 3U + 1U + 3U);
  for (const auto& run : plan.runs) EXPECT_EQ(run.config.seed, 0U);
  ASSERT_EQ(plan.second_phases.size(), 1U);
  EXPECT_EQ(plan.second_phases[0].best, 2U);
  EXPECT_THAT(plan.second_phases[0].seeds, ElementsAre(1, 2));
}

// They have the same names and configurations as in the plain grid.
TEST(TwoPhases, TheCandidatesAreTheRestOfTheGrid) {
  const TwoPhaseStudy phased;
  auto request = two_phase_request();
  request.best = 0;
  const auto grid = testing::make_plan(request);
  ASSERT_EQ(phased.plan.runs.size() + phased.candidates.size(), grid.size());
  for (std::size_t i = 0; i < phased.candidates.size(); ++i) {
    const auto& whole = grid[phased.plan.runs.size() + i];
    EXPECT_EQ(phased.candidates[i].directory, whole.directory);
    EXPECT_EQ(phased.candidates[i].variant, whole.variant);
    EXPECT_EQ(train::to_toml(phased.candidates[i].config), train::to_toml(whole.config));
    EXPECT_EQ(phased.candidates[i].config.optimizer.seed, whole.config.seed);
  }
}

TEST(TwoPhases, TheSecondIsTheBestRatesOfEachOptimizerWithTheOtherSeeds) {
  const TwoPhaseStudy phased;
  const auto choice = choose_second_phase(phased.study, phased.candidates);
  EXPECT_THAT(choice.notices, ElementsAre());
  EXPECT_THAT(
      directories_of(choice.runs),
      ElementsAre("mnist-sgd_lr_0.25-lr0.25-seed1", "mnist-momentum-control-lr0.01-seed1", "mnist-lehi-lr0.003-seed1",
                  "mnist-lehi-lr0.01-seed1", "mnist-sgd_lr_0.25-lr0.25-seed2", "mnist-momentum-control-lr0.01-seed2",
                  "mnist-lehi-lr0.003-seed2", "mnist-lehi-lr0.01-seed2"));
}

TEST(TwoPhases, TheSecondWaitsForEveryRunOfAnOptimizer) {
  TwoPhaseStudy phased;
  run_at(phased.study, "lehi", 1e-3).status = train::RunStatus::failed;
  run_at(phased.study, "momentum-control", 0.03).status = train::RunStatus::interrupted;
  const auto choice = choose_second_phase(phased.study, phased.candidates);
  EXPECT_THAT(directories_of(choice.runs),
              ElementsAre("mnist-sgd_lr_0.25-lr0.25-seed1", "mnist-sgd_lr_0.25-lr0.25-seed2"));
  EXPECT_THAT(choice.notices, ElementsAre("the second phase of lehi on mnist waits for 1 run that failed"));
}

TEST(TwoPhases, RunsThatAreAddedLaterKeepTheOrderOfThePlan) {
  TwoPhaseStudy at_once;
  add_second_phase(at_once.study, choose_second_phase(at_once.study, at_once.candidates).runs, at_once.candidates);
  EXPECT_EQ(at_once.study.runs.size(), 7U + 8U);
  EXPECT_EQ(at_once.study.runs[7].phase, 2);
  EXPECT_TRUE(choose_second_phase(at_once.study, at_once.candidates).runs.empty()) << "they are chosen only once";

  TwoPhaseStudy later;
  auto& failed = run_at(later.study, "lehi", 1e-3);
  failed.status = train::RunStatus::failed;
  add_second_phase(later.study, choose_second_phase(later.study, later.candidates).runs, later.candidates);
  for (auto& run : later.study.runs) {
    if (run.phase == 2) end_run(run, 50.0);
  }
  end_run(run_at(later.study, "lehi", 1e-3), 90.0);
  const auto rest = choose_second_phase(later.study, later.candidates).runs;
  EXPECT_EQ(rest.size(), 4U);
  add_second_phase(later.study, rest, later.candidates);
  ASSERT_EQ(later.study.runs.size(), at_once.study.runs.size());
  for (std::size_t i = 0; i < later.study.runs.size(); ++i) {
    EXPECT_EQ(later.study.runs[i].directory, at_once.study.runs[i].directory);
  }
  EXPECT_EQ(later.study.runs[7].mean("test_accuracy"), 50.0) << "earlier results are kept";
}

TEST(TwoPhases, EstimatesTheSecondBeforeItIsChosen) {
  const TwoPhaseStudy phased;
  const auto expected = expected_second_phase(phased.study, phased.candidates);
  EXPECT_EQ(expected.size(), 2U * (2U + 1U + 2U));  // two seeds; sgd has one rate only
  TwoPhaseStudy begun;
  add_second_phase(begun.study, choose_second_phase(begun.study, begun.candidates).runs, begun.candidates);
  EXPECT_TRUE(expected_second_phase(begun.study, begun.candidates).empty());
}

TEST(TwoPhases, ChoosesOnValidationWhereItWasHeldOut) {
  TwoPhaseStudy phased;
  for (auto& run : phased.study.runs) {
    if (!run.done()) continue;
    const double accuracy = run.variant == "lehi" && run.lr == 1e-3 ? 99.0 : 80.0;
    run.windows["validation_accuracy"] = window_over("validation_accuracy", {accuracy, accuracy});
  }
  const auto names = directories_of(choose_second_phase(phased.study, phased.candidates).runs);
  EXPECT_THAT(names, ::testing::Contains("mnist-lehi-lr0.001-seed1"));
  EXPECT_THAT(names, ::testing::Contains("mnist-lehi-lr0.003-seed1")) << "the smaller of two equal ones";
  EXPECT_THAT(names, ::testing::Not(::testing::Contains("mnist-lehi-lr0.01-seed1")));
}

TEST(TwoPhases, AreInTheStudyFileAndDistinguishPlans) {
  const Scratch scratch;
  TwoPhaseStudy phased;
  EXPECT_EQ(plan_difference(scratch.path(), phased.study, phased.plan.runs, phased.plan.second_phases), "");
  add_second_phase(phased.study, choose_second_phase(phased.study, phased.candidates).runs, phased.candidates);
  write_study(scratch.path(), phased.study);
  const auto there = read_study(scratch.path());
  EXPECT_EQ(to_json(there), to_json(phased.study));
  EXPECT_EQ(to_json(there)["protocol"], "two-phase");
  EXPECT_EQ(there.second_phases, phased.plan.second_phases);
  EXPECT_EQ(there.runs.back().phase, 2);
  EXPECT_EQ(there.runs[0].windows.at("test_accuracy").values.size(), 2U);
  EXPECT_EQ(plan_difference(scratch.path(), there, phased.plan.runs, phased.plan.second_phases), "");

  EXPECT_THAT(plan_difference(scratch.path(), there, phased.plan.runs), HasSubstr("has two phases"));
  auto request = two_phase_request();
  request.best = 1;
  auto other = make_study_plan({request});
  EXPECT_THAT(plan_difference(scratch.path(), there, other.runs, other.second_phases),
              HasSubstr("its second phase is mnist: the best 2 with seeds 1, 2 and this one's mnist: the best 1"));
  request = two_phase_request();
  request.seeds = {0, 1};
  other = make_study_plan({request});
  EXPECT_THAT(plan_difference(scratch.path(), there, other.runs, other.second_phases), HasSubstr("seeds 1, 2"));
  request.best = 0;
  EXPECT_EQ(to_json(new_study("sweep", {}, testing::make_plan(request)))["protocol"], "grid");
}

TEST(TwoPhases, NeedAnotherSeed) {
  auto request = two_phase_request();
  request.seeds = {0};
  EXPECT_THAT(testing::message_of([&] { make_study_plan({request}); }), HasSubstr("one seed only"));
}

}  // namespace
}  // namespace lehi::study
