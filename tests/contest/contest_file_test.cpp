#include "contest/contest_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contest/batches.h"
#include "contest/contest_difference.h"
#include "contest/example.h"
#include "contest/plan.h"
#include "files/files.h"
#include "support/support.h"
#include "train/scratch.h"

namespace lehi::contest {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kSmallContest;
using testing::message_of;
using testing::replaced;
using ::testing::StartsWith;

/// The message of the ConfigError about a file; "" if there is none.
std::string contest_error(const std::string& text) {
  try {
    parse_contest(text, "c.toml");
  } catch (const train::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ContestFile, ReadsArmsTasksAndDefaults) {
  const auto contest = parse_contest(kSmallContest, "c.toml");
  EXPECT_EQ(contest.baseline, "adamw");
  EXPECT_EQ(contest.question.challenger, "muon");
  EXPECT_THAT(contest.question.rivals, ElementsAre("lion"));
  ASSERT_EQ(contest.arms.size(), 3U);
  EXPECT_EQ(contest.arm("lion").label, "Lion");
  EXPECT_EQ(contest.arm("muon").label, "muon");
  EXPECT_FALSE(contest.arm("muon").knob);
  EXPECT_THAT(contest.arm("adamw").knob->values, ElementsAre("0.5", "0.25"));
  ASSERT_EQ(contest.tasks.size(), 1U);
  const auto& task = contest.tasks[0];
  EXPECT_EQ(task.title, "little");
  EXPECT_EQ(task.preset, "small");
  EXPECT_THAT(task.arms, ElementsAre("adamw", "muon", "lion"));
  EXPECT_THAT(task.speed_up, ElementsAre("muon", "lion")) << "neither the baseline nor controls";
  EXPECT_THAT(task.rates_of.at("muon"), ElementsAre(1e-3, 1e-2));
}

TEST(ContestFile, ATaskOverridesArmsRatesAndOptimizers) {
  const auto task = parse_contest(kSmallContest +
                                      "arms = [\"lion\", \"adamw\"]\n"
                                      "rates = [0.5]\n"
                                      "rates_of.lion = [3e-4, 1e-4]\n"
                                      "replace.lion = \"lion[beta2=0.9]\"\n"
                                      "seeds = [7, 8]\n",
                                  "c.toml")
                        .tasks[0];
  EXPECT_THAT(task.arms, ElementsAre("adamw", "lion")) << "in the file's order";
  EXPECT_THAT(task.rates_of.at("adamw"), ElementsAre(0.5));
  EXPECT_THAT(task.rates_of.at("lion"), ElementsAre(1e-4, 3e-4));
  EXPECT_EQ(task.optimizer_of.at("lion"), "lion[beta2=0.9]");
  EXPECT_EQ(task.optimizer_of.at("adamw"), "adamw");
  EXPECT_THAT(task.seeds, ElementsAre(7U, 8U));
}

TEST(ContestFile, AnArmMayHaveANameOfItsOwn) {
  const auto contest = parse_contest(replaced(kSmallContest, "label = \"Lion\"", "optimizer = \"sgd[momentum=0.9]\"") +
                                         "arms = [\"adamw\", \"lion\"]\n",
                                     "c.toml");
  EXPECT_EQ(contest.arm("lion").label, "lion");
  EXPECT_EQ(contest.tasks[0].optimizer_of.at("lion"), "sgd[momentum=0.9]");
}

TEST(ContestFile, TheTimeOfAStepIsMeasuredOverAWholeRunUnlessTheFileSetsItsLength) {
  EXPECT_EQ(parse_contest(kSmallContest, "c.toml").tasks[0].speed_steps, 50);
  EXPECT_EQ(parse_contest(replaced(kSmallContest, "speed_steps = 50\n", ""), "c.toml").tasks[0].speed_steps, 400);
}

TEST(ContestFile, NamesFileLineAndReasonOfEveryError) {
  const auto with = [](const std::string& from, const std::string& to) {
    return contest_error(replaced(kSmallContest, from, to));
  };
  EXPECT_THAT(contest_error("baseline = "), StartsWith("c.toml, line 1"));
  EXPECT_THAT(with("baseline = \"adamw\"\n", ""), HasSubstr("has no 'baseline'"));
  EXPECT_THAT(with("challenger = \"muon\"", "challenger = \"muonn\""),
              AllOf(StartsWith("c.toml, line 2"), HasSubstr("did you mean 'muon'?")));
  EXPECT_THAT(with("tuning_seeds", "tuning_seds"), AllOf(StartsWith("c.toml, line 5"), HasSubstr("tuning_seeds")));
  EXPECT_THAT(with("seeds = [100, 101, 102]", "seeds = [1, 101]"), HasSubstr("the seed 1 twice"));
  EXPECT_THAT(with("seeds = [100, 101, 102]", "seeds = [100]"), HasSubstr("at least two seeds"));
  EXPECT_THAT(with("speed_up_seeds = 2", "speed_up_seeds = 4"), HasSubstr("only 3 seeds"));
  EXPECT_THAT(with("speed_rounds = 3", "speed_rounds = 0"), HasSubstr("speed_rounds is 0"));
  EXPECT_THAT(with("name = \"muon\"", "name = \"moon\""), StartsWith("c.toml, line 18"));
  EXPECT_THAT(with("name = \"lion\"", "name = \"muon\""), HasSubstr("muon is listed twice"));
  EXPECT_THAT(with("label = \"Lion\"", "optimizer = \"lyon\""),
              AllOf(StartsWith("c.toml, line "), HasSubstr("unknown optimizer 'lyon'")));
  EXPECT_THAT(with("[1e-3, 1e-2]\n", "[1e-3, -1.0]\n"), HasSubstr("greater than 0"));
  EXPECT_THAT(with("[1e-3, 1e-2]\n", "[1e-3, 1e-3]\n"), HasSubstr("0.001 twice"));
  EXPECT_THAT(with("key = \"weight_decay\"", "key = \"weight_dekay\""), HasSubstr("weight_dekay"));
  EXPECT_THAT(with("key = \"weight_decay\"", "key = \"lr\""), HasSubstr("another key than the rate"));
  EXPECT_THAT(with("values = [0.5, 0.25]", "values = []"), HasSubstr("knob must be a table"));
  EXPECT_THAT(with("name = \"little\"", "name = \"../little\""), HasSubstr("plain directory name"));
  EXPECT_THAT(with("steps = 400", "steps = 4"), HasSubstr("steps is 4"));
  EXPECT_THAT(contest_error(kSmallContest + "arms = [\"muon\"]\n"), HasSubstr("lack the baseline adamw"));
  EXPECT_THAT(contest_error(kSmallContest + "rates_of.lyon = [1.0]\n"), HasSubstr("did you mean 'lion'?"));
  EXPECT_THAT(contest_error(kSmallContest + "replace.muon = \"moon\"\n"), StartsWith("c.toml, line 31"));
  EXPECT_THAT(contest_error(kSmallContest + "settings.train.steps = 3\n"), HasSubstr("train.steps"));
  EXPECT_THAT(contest_error(kSmallContest + "[[task]]\nname = \"little\"\ntask = \"mnist\"\nsteps = 30\n"),
              HasSubstr("little is listed twice"));
}

TEST(ContestFile, WrongSettingsAndMissingHeldOutRowsAreFoundBeforeAnythingRuns) {
  const auto plan_error = [](const std::string& text) {
    const auto contest = parse_contest(text, "c.toml");
    return message_of([&] { check_task_plan(contest, contest.tasks[0], {"adamw", "muon", "lion"}); });
  };
  EXPECT_EQ(plan_error(kSmallContest), "");
  EXPECT_THAT(plan_error(kSmallContest + "settings.train.batch = 3\n"), StartsWith("c.toml, line 31"));
  EXPECT_THAT(plan_error(replaced(kSmallContest, "\"protein\"", "\"proteins\"")),
              AllOf(StartsWith("c.toml, line "), HasSubstr("no task 'proteins'")));
  EXPECT_THAT(plan_error(replaced(kSmallContest, "[0.5, 0.25]", "[0.5, -1.0]")), HasSubstr("weight_decay"));
  EXPECT_THAT(plan_error(replaced(kSmallContest, "[0.5, 0.25]", "[0.5, 0.01]")),
              AllOf(StartsWith("c.toml, line "), HasSubstr("tries adamw with optimizer.weight_decay=0.01 twice")));
  EXPECT_THAT(plan_error(replaced(kSmallContest, "\"protein\"", "\"ptb\"") + "settings.data.test_rows = 10\n"),
              AllOf(StartsWith("c.toml, line "), HasSubstr("text.test_tokens")));
  EXPECT_THAT(plan_error(replaced(kSmallContest, "validation = 0.1\n", "")), HasSubstr("add validation = 0.1"));
}

TEST(ContestFile, ARestrictedContestKeepsTheBaseline) {
  const auto contest = parse_contest(kSmallContest, "c.toml");
  const auto some = restricted(contest, {}, {"lion", "adamw"});
  EXPECT_THAT(some.tasks[0].arms, ElementsAre("adamw", "lion"));
  EXPECT_THAT(some.tasks[0].speed_up, ElementsAre("lion"));
  EXPECT_THAT(message_of([&] { restricted(contest, {}, {"lion"}); }), HasSubstr("must contain the baseline adamw"));
  EXPECT_THAT(message_of([&] { restricted(contest, {"litle"}, {}); }), HasSubstr("did you mean 'little'?"));
}

TEST(ContestFile, TheBuiltInContestsAreValid) {
  EXPECT_THAT(built_in_contests(), ElementsAre("full", "small"));
  for (const auto& name : built_in_contests()) {
    const auto contest = parse_contest(contest_text(name), name);
    EXPECT_GE(contest.arms.size(), 15U) << name;
    for (const auto& task : contest.tasks) {
      EXPECT_EQ(message_of([&] { check_task_plan(contest, task, task.arms); }), "") << task.name;
      for (const auto& arm : contest.arms) {
        ASSERT_TRUE(arm.knob) << arm.name;
        EXPECT_EQ(arm.knob->values.size(), 6U) << arm.name;
        EXPECT_EQ(arm.rates.size(), 6U) << arm.name << ": equal numbers of trials";
      }
    }
  }
  EXPECT_THAT(message_of([] { contest_text("smal"); }), HasSubstr("there are full, small"));
}

TEST(ContestDifference, OnlyWhatHasRunMustStayTheSame) {
  const testing::Scratch scratch;
  const auto there = parse_contest(kSmallContest, "c.toml");
  const auto difference = [&](const std::string& from, const std::string& to) {
    return contest_difference(there, parse_contest(replaced(kSmallContest, from, to), "c.toml"), scratch / "");
  };
  EXPECT_THAT(difference("steps = 400", "steps = 300"), IsEmpty()) << "nothing has run";
  Batches batches;
  batches.add("speed", {"adamw", "lion"});
  make_directories(scratch / "little");
  batches.write(scratch / "little");
  EXPECT_EQ(difference("steps = 400", "steps = 300"), "steps of little is 400 there and 300 here");
  EXPECT_THAT(difference("seeds = [100, 101, 102]", "seeds = [100, 101]"), HasSubstr("seeds of little"));
  EXPECT_THAT(difference("values = [0.5, 0.25]", "values = [0.5, 0.1]"), HasSubstr("knob of little, adamw,"));
  EXPECT_THAT(difference("rates = [1e-3, 1e-2]\n", "rates = [1e-3, 1e-1]\n"), IsEmpty()) << "muon has not run";
  EXPECT_THAT(difference("label = \"Lion\"", "label = \"lion\""), IsEmpty());
  EXPECT_THAT(difference("name = \"little\"", "name = \"small\""), HasSubstr("the task little is missing"));
}

}  // namespace
}  // namespace lehi::contest
