#include "study/study_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/support.h"
#include "train/scratch.h"

namespace lehi::study {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

StudyPlan plan_of_file(const std::string& text) { return make_study_plan(parse_study_file(text, "a.toml")); }

/// The error message about a file; "" for a ConfigError that was not thrown.
std::string file_error(const std::string& text) {
  try {
    plan_of_file(text);
  } catch (const train::ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(StudyToml, EachTaskHasItsOwnKeys) {
  const auto requests = parse_study_file(R"(
optimizers = ["lehi", "adam"]
seeds = [0, 1, 2]
best = 2
rates = [1e-3, 1]
settings.train.epochs = 7

[[task]]
name = "protein"
validation = 0.1

[[task]]
name = "mnist"
preset = "small"
optimizers = ["adam", "lehi-gn[mix=max]", "momentum-control"]
seeds = [4, 5]
best = 0
[task.rates_of]
adam = [3e-4]
"lehi-gn[mix=max]" = [1e-3, 3e-3]
[task.settings.train]
epochs = 3
batch_size = 64
[task.settings.model]
hidden = [7, 7]
)",
                                         "a.toml");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_THAT(requests[0].tasks, ElementsAre("protein"));
  EXPECT_THAT(requests[0].rates, ElementsAre(1e-3, 1.0));
  EXPECT_EQ(requests[0].best, 2U);
  EXPECT_EQ(requests[1].best, 0U);
  const auto plan = make_study_plan(requests);
  // protein with seed 0: 2 x 2; mnist with seeds 4 and 5: adam 1, lehi-gn 2, the control 2.
  ASSERT_EQ(plan.runs.size(), 4U + 2U * 5U);
  EXPECT_EQ(plan.runs[0].directory, "protein-lehi-lr0.001-seed0");
  EXPECT_EQ(plan.runs[0].config.validation, 0.1);
  EXPECT_EQ(plan.runs[0].config.epochs, 7);
  EXPECT_EQ(plan.runs[4].directory, "mnist-adam-lr0.0003-seed4");
  EXPECT_EQ(plan.runs[4].config.epochs, 3);
  EXPECT_EQ(plan.runs[4].config.batch_size, 64);
  EXPECT_THAT(plan.runs[4].config.model.hidden, ElementsAre(7, 7));
  EXPECT_EQ(plan.runs[4].config.preset, "small");
  EXPECT_EQ(plan.runs.back().config.seed, 5U);
  ASSERT_EQ(plan.second_phases.size(), 1U);
  EXPECT_EQ(plan.second_phases[0].task, "protein");
  EXPECT_THAT(plan.second_phases[0].seeds, ElementsAre(1, 2));
}

TEST(StudyToml, HasTheDefaultsOfTheCommand) {
  const auto plan = plan_of_file("[[task]]\nname = \"protein\"\n");
  EXPECT_EQ(plan.runs.size(), 4U * 7U);
  EXPECT_EQ(plan.runs[0].config.seed, 0U);
  EXPECT_TRUE(plan.second_phases.empty());
}

TEST(StudyToml, MomentumControlFollowsLehisRates) {
  const auto plan = plan_of_file(R"(
optimizers = ["lehi", "momentum-control"]
rates_of.lehi = [1e-3, 2e-3]
[[task]]
name = "mnist"
)");
  ASSERT_EQ(plan.runs.size(), 4U);
  EXPECT_EQ(plan.runs[1].variant, "momentum-control");
  EXPECT_EQ(plan.runs[1].config.optimizer.group.lr, 0.01);  // 1e-3 / sqrt(1e-2)
  EXPECT_EQ(plan.runs[3].config.optimizer.group.lr, 0.02);
}

// Without toml++'s formatter, which has undefined behaviour for 0.001.
TEST(StudyToml, SettingsKeepTheirValues) {
  const auto requests = parse_study_file(R"(
[[task]]
name = "mnist"
settings.judge.rates = [1e-3, 3e-3, 10.0]
settings.model.hidden = [7, 7]
settings.text.field = "a \"b\" \\ \u0007"
settings.train.low_memory = true
)",
                                         "s.toml");
  ASSERT_EQ(requests.size(), 1U);
  std::map<std::string, std::string> settings;
  for (const auto& setting : requests[0].settings) settings[setting.key] = setting.value;
  EXPECT_EQ(settings["judge.rates"], "[0.001, 0.003, 10.0]");
  EXPECT_EQ(settings["model.hidden"], "[7, 7]");
  EXPECT_EQ(settings["text.field"], R"("a \"b\" \\ \u0007")");
  EXPECT_EQ(settings["train.low_memory"], "true");
}

TEST(StudyToml, ThePapersStudyFollowsItsProtocol) {
  const auto plan = make_study_plan(read_study_file(LEHI_SOURCE_DIR "/configs/studies/paper.toml"));
  EXPECT_EQ(plan.runs.size(), 2U * 5U * 7U);
  EXPECT_EQ(plan.second_phases.size(), 2U);
  EXPECT_EQ(second_phase_candidates(plan.runs, plan.second_phases).size(), 2U * 2U * 5U * 7U);
}

TEST(StudyToml, NamesFileLineAndMistake) {
  const std::string task = "[[task]]\nname = \"protein\"\n";
  const std::pair<std::string, std::string> cases[] = {
      {"", "names no task"},
      {"task = 3\n", "names no task"},
      {"task = [1]\n", "line 1: task must be a table"},
      {"[[task]]\nseeds = [1]\n", "line 1: the task has no name"},
      {"[[task]]\nname = 3\n", "line 2: name is 3, but must be a quoted string"},
      {"\noptimisers = [\"lehi\"]\n" + task, "line 2: there is no key 'optimisers' (did you mean 'optimizers'?)"},
      {task + "seed = [1]\n", "line 3: there is no key 'seed' (did you mean 'seeds'?)"},
      {task + "colour = 1\n", "there is no key 'colour'; there are optimizers, rates"},
      {"name = \"protein\"\n" + task, "there is no key 'name'"},
      {task + "seeds = 3\n", "line 3: seeds is 3, but must be a list of whole numbers"},
      {task + "seeds = []\n", "seeds is [], but must be a list"},
      {task + "seeds = [0, -1]\n", "line 3: the seed -1"},
      {task + "seeds = [0.5]\n", "seeds is 0.5"},
      {task + "seeds = [1, 1]\n", "a.toml, line 1: the study lists the seed 1 twice"},
      {task + "rates = [\"fast\"]\n", "rates is"},
      {task + "rates = [nan]\n", "rates is nan"},
      {task + "rates = [-1.0]\n", "a learning rate of the study is -1"},
      {task + "best = -1\n", "best is -1"},
      {task + "best = 2\n", "one seed only"},
      {task + "preset = \"huge\"\n", "a.toml, line 1: task protein has no preset 'huge'"},
      {task + "optimizers = [\"adamm\"]\n", "adamm"},
      {task + "rates_of.adamm = [1.0]\n",
       "rates are given for adamm, which the study does not train (did you mean 'adam'?)"},
      {task + "rates_of = 1\n", "rates_of must be a table"},
      {task + "optimizers = [\"sgd[lr=1]\"]\nrates_of.\"sgd[lr=1]\" = [1.0]\n", "names its own learning rate"},
      {task + "validation = 2\n", "data.validation is 2"},
      {task + "settings = 1\n", "settings must be a table"},
      {task + "settings.train.epoch = 1\n",
       "a.toml, line 3: train.epoch: there is no key 'train.epoch' (did you mean 'train.epochs'?)"},
      {task + "settings.train.epochs = \"many\"\n", "a.toml, line 3: train.epochs"},
      {task + "settings.seed = 1\n", "a key of its own"},
      {task + task, "a.toml, line 3: the study lists the task protein twice"},
      {"[[task]]\nname = \"everest\"\n", "a.toml, line 1: there is no task 'everest'"},
      {"seeds = [\n", "a.toml, line"},
      {"seeds = [1]\nseeds = [2]\n" + task, "a.toml, line 2"},
  };
  for (const auto& [text, expected] : cases) {
    const auto message = file_error(text);
    EXPECT_THAT(message, AllOf(StartsWith("a.toml"), HasSubstr(expected))) << text;
    EXPECT_EQ(message.find("a.toml", 1), std::string::npos) << "named twice: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_THAT(testing::message_of([] { read_study_file("/no/such.toml"); }), HasSubstr("/no/such.toml"));
}

}  // namespace
}  // namespace lehi::study
