#include "cli/sweep.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <random>
#include <thread>

#include "cli/child.h"
#include "cli/run.h"
#include "cli/sweep_study.h"
#include "support/support.h"
#include "train/checkpoint.h"
#include "train/metrics_log.h"
#include "train/run_record.h"
#include "train/scratch.h"

namespace lehi::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Scratch;

TEST(SweepCommand, UsesThePapersGridByDefault) {
  const auto config = parse_sweep({"protein", "mnist", "--out", "x"});
  EXPECT_EQ(config.plan.size(), 2U * 4U * 7U);
  EXPECT_EQ(config.plan[0].config.optimizer.group.lr, 1e-4);
  EXPECT_EQ(config.plan[0].config.seed, 0U);
  EXPECT_EQ(config.plan.back().config.task, "mnist");
  EXPECT_EQ(parse_sweep({"protein", "--lrs", "1e-3,2e-3", "--optimizers", "adam", "--seeds", "0,1"}).plan.size(), 4U);
}

TEST(SweepCommand, ReportsBadInputInOneSentenceAndWritesNothing) {
  const Scratch scratch;
  const auto out = (scratch / "out").string();
  const Arguments bad[] = {{},
                           {"everest"},
                           {"protein", "--lrs", "-1e-3"},
                           {"protein", "--lrs", "0"},
                           {"protein", "--lrs", "1e-3,fast"},
                           {"protein", "--lrs", ","},
                           {"protein", "--lrs", "1e-3,1e-3"},
                           {"protein", "protein"},
                           {"protein", "--optimizers", "magic"},
                           {"protein", "--seeds", "1,1"},
                           {"protein", "--best", "0"},
                           {"protein", "--best", "2"},
                           {"protein", "--best", "many", "--seeds", "0,1"},
                           {"protein", "--jobs", "0"}};
  for (auto arguments : bad) {
    const auto line = fmt::format("{}", fmt::join(arguments, " "));
    arguments.insert(arguments.end(), {"--out", out});
    ASSERT_NE(testing::message_of([&] { parse_sweep(arguments); }), "") << line;  // as in compare_test.cpp
    arguments.insert(arguments.begin(), "sweep");
    const auto result = run(arguments);
    EXPECT_EQ(result.code, usage_error) << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << line << ": " << result.err;
    EXPECT_THAT(scratch.names(), IsEmpty()) << line;
  }
}

TEST_F(SweepStudy, ParsesTwoPhases) {
  const auto config = parse_sweep({"protein", "mnist", "--seeds", "0,1,2", "--best", "2", "--out", "x"});
  EXPECT_EQ(config.plan.size(), 2U * 4U * 7U);
  ASSERT_EQ(config.second_phases.size(), 2U);
  EXPECT_EQ(config.second_phases[1].task, "mnist");
  EXPECT_EQ(config.second_phases[1].best, 2U);
}

TEST_F(SweepStudy, ReadsAStudyFile) {
  testing::spill(scratch / "small study.toml", "seeds = [3]\n[[task]]\nname = \"protein\"\nrates = [1e-3]\n");
  const auto file = (scratch / "small study.toml").string();
  const auto config = parse_sweep({"--study", file, "--jobs", "3"});
  EXPECT_EQ(config.plan.size(), 4U);
  EXPECT_EQ(config.plan[0].config.seed, 3U);
  EXPECT_EQ(config.jobs, 3);
  EXPECT_THAT(config.directory, ::testing::StartsWith("runs/sweep-small_study-"));
  const Arguments contradictions[] = {{"mnist"},
                                      {"--seeds", "1"},
                                      {"--optimizers", "adam"},
                                      {"--lrs", "1"},
                                      {"--best", "2"},
                                      {"--epochs", "3"},
                                      {"--preset", "small"},
                                      {"--config", file},
                                      {"--set", "train.epochs=1"}};
  for (auto arguments : contradictions) {
    const auto flag = arguments[0] == "mnist" ? "the task" : arguments[0];
    arguments.insert(arguments.end(), {"--study", file});
    EXPECT_THAT(testing::message_of([&] { parse_sweep(arguments); }), HasSubstr("leave out " + flag)) << flag;
  }
  testing::spill(scratch / "bad.toml", "[[task]]\nname = \"protein\"\nsedes = [3]\n");
  const auto bad = run({"sweep", "--study", (scratch / "bad.toml").string()});
  EXPECT_EQ(bad.code, bad_input);
  EXPECT_THAT(bad.err, ::testing::AllOf(HasSubstr("bad.toml, line 3"), HasSubstr("did you mean 'seeds'?")));
  EXPECT_EQ(run({"sweep", "--study", (scratch / "none.toml").string()}).code, bad_input);
}

// The whole study is killed at ten random moments and ends like one that was not killed. A run with a checkpoint
// continues from its newest one; a finished run is not written again.
TEST_F(SweepStudy, SurvivesTenKills) {
  ASSERT_EQ(Child(arguments("straight")).wait(), done);
  std::mt19937 engine(11);  // NOLINT(cert-msc51-cpp): about the same moments each time
  // The moments are measured in saved steps, so that the study is killed at work on a slow machine, too: 48,000 steps
  // in all, of which ten kills wait for 22,000 on average. The milliseconds move a kill between two checkpoints.
  std::uniform_int_distribution<std::int64_t> steps(0, 4400);
  std::uniform_int_distribution<int> milliseconds(0, 50);
  std::map<std::string, Seen> before;
  int killed = 0;
  for (int i = 0; i <= 10; ++i) {
    const auto wanted = saved_steps("killed") + steps(engine);
    const Child child(arguments("killed"));
    if (i < 10) {
      while (saved_steps("killed") < wanted && !child.ended()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(engine)));
      child.send(SIGKILL);
    }
    const int code = child.wait();
    killed += code == -SIGKILL ? 1 : 0;
    ASSERT_THAT(code, ::testing::AnyOf(done, -SIGKILL));
    before = look("killed", before);
  }
  EXPECT_GE(killed, 5) << "the study is too short to be killed";
  std::size_t resumed = 0;
  for (const auto& [directory, seen] : before) resumed += seen.sessions.size() - 1;
  EXPECT_GE(resumed, 5U) << "too few runs were killed while they trained";

  const auto straight = study_of("straight");
  EXPECT_EQ(straight, study_of("killed"));
  ASSERT_EQ(straight.size(), 4U + 2U) << "two rates of two optimizers, and the better one of each again";
  for (const auto& entry : straight) {
    const auto directory = entry["directory"].get<std::string>();
    EXPECT_EQ(metrics_of("straight", directory), metrics_of("killed", directory)) << directory;
    EXPECT_EQ(before.at(directory).sessions.front(), 0);
    EXPECT_EQ(entry["phase"], entry["seed"] == 0 ? 1 : 2);
  }
}

}  // namespace
}  // namespace lehi::cli
