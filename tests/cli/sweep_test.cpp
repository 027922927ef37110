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

/// A small study of two phases, and what its directory says between two kills.
class SweepStudy : public ::testing::Test {
 protected:
  SweepStudy() {
    std::string table = "a,b,y\n";
    for (int i = 0; i < 500; ++i) table += fmt::format("{},{},{}\n", i % 17, i % 5, 2 * (i % 17) - i % 5);
    testing::spill(scratch / "t.csv", table);
  }

  Arguments arguments(const std::string& out) const {
    return {"sweep",
            "csv:" + (scratch / "t.csv").string(),
            "--target",
            "y",
            "--steps",
            "5000",
            "--optimizers",
            "lehi,momentum-control",
            "--lrs",
            "1e-4,1e-3",
            "--seeds",
            "0,1",
            "--best",
            "1",
            "--jobs",
            "2",
            "--set",
            "train.evaluate_every=500",
            "--set",
            "checkpoint.every=250",
            "--resume",
            "--out",
            (scratch / out).string()};
  }

  /// Steps that the runs' newest checkpoints have; a study may be writing there.
  std::int64_t saved_steps(const std::string& out) const {
    std::int64_t sum = 0;
    std::error_code ignored;
    for (const auto& run : std::filesystem::directory_iterator(scratch / out, ignored)) {
      std::int64_t newest = 0;
      for (const auto& entry : std::filesystem::directory_iterator(run.path() / "checkpoints", ignored)) {
        long step = 0;
        if (std::sscanf(entry.path().filename().c_str(), "step-%ld", &step) == 1) newest = std::max<long>(newest, step);
      }
      sum += newest;
    }
    return sum;
  }

  /// What a run's directory held when nobody was writing to it.
  struct Seen {
    std::vector<std::int64_t> sessions;
    std::int64_t checkpoint = 0;  ///< step of the newest one; 0: none
    std::string record;           ///< run.json of a run that had ended
  };

  /// Looks at every run, and compares with what was there before the last session.
  std::map<std::string, Seen> look(const std::string& out, const std::map<std::string, Seen>& before) const {
    // The runs of a killed study live a moment longer; they hold its lock.
    const int directory = ::open((scratch / out).c_str(), O_RDONLY | O_CLOEXEC);
    if (directory >= 0) ::flock(directory, LOCK_EX);
    std::map<std::string, Seen> now;
    for (const auto& name : train::list_directory(scratch / out)) {
      const auto run = scratch / out / name;
      if (!std::filesystem::exists(run / "run.json")) continue;
      auto& seen = now[name];
      const auto record = train::read_run_record(run / "run.json");
      seen.sessions = record.sessions;
      if (const auto newest = train::newest_valid(run / "checkpoints").found) {
        seen.checkpoint = newest->checkpoint.state.at("steps").get<std::int64_t>();
      }
      if (record.status == train::RunStatus::done) seen.record = testing::slurp(run / "run.json");
      const auto earlier = before.find(name);
      if (earlier == before.end()) {
        EXPECT_EQ(seen.sessions.size(), 1U) << name;
        continue;
      }
      if (!earlier->second.record.empty()) {
        EXPECT_EQ(seen.record, earlier->second.record) << name << " had ended and was touched again";
        continue;
      }
      auto expected = earlier->second.sessions;
      if (seen.sessions.size() > expected.size()) expected.push_back(earlier->second.checkpoint);
      EXPECT_EQ(seen.sessions, expected) << name << " did not go on from its newest checkpoint";
    }
    if (directory >= 0) ::close(directory);
    return now;
  }

  /// The runs of study.json without times and memory.
  nlohmann::json study_of(const std::string& out) const {
    auto study = nlohmann::json::parse(testing::slurp(scratch / out / "study.json"));
    EXPECT_EQ(study["protocol"], "two-phase");
    EXPECT_TRUE(study["finished"].is_string());
    for (auto& entry : study["runs"]) {
      for (auto* object : {&entry, &entry["result"]}) {
        for (const auto* key : {"seconds", "split", "step_seconds_min", "step_seconds_max", "peak_memory_bytes"}) {
          object->erase(key);
        }
      }
    }
    return study["runs"];
  }

  std::vector<nlohmann::json> metrics_of(const std::string& out, const std::string& directory) const {
    auto lines = train::read_metrics(scratch / out / directory / "metrics.jsonl");
    for (auto& line : lines) {
      line.erase("seconds");
      line.erase("peak_memory_bytes");
    }
    return lines;
  }

  Scratch scratch;
};

TEST(SweepCommand, TakesThePapersGridByDefault) {
  const auto config = parse_sweep({"protein", "mnist", "--out", "x"});
  EXPECT_EQ(config.plan.size(), 2U * 4U * 7U);
  EXPECT_EQ(config.plan[0].config.optimizer.group.lr, 1e-4);
  EXPECT_EQ(config.plan[0].config.seed, 0U);
  EXPECT_EQ(config.plan.back().config.task, "mnist");
  EXPECT_EQ(parse_sweep({"protein", "--lrs", "1e-3,2e-3", "--optimizers", "adam", "--seeds", "0,1"}).plan.size(), 4U);
}

TEST(SweepCommand, AnswersBadInputWithOneSentenceAndWritesNothing) {
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

TEST_F(SweepStudy, TakesTwoPhases) {
  const auto config = parse_sweep({"protein", "mnist", "--seeds", "0,1,2", "--best", "2", "--out", "x"});
  EXPECT_EQ(config.plan.size(), 2U * 4U * 7U);
  ASSERT_EQ(config.seconds.size(), 2U);
  EXPECT_EQ(config.seconds[1].task, "mnist");
  EXPECT_EQ(config.seconds[1].best, 2U);
}

TEST_F(SweepStudy, TakesAStudyFile) {
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

// kill -9 of the whole study at ten random moments. It ends as one that nobody killed; a run that had a checkpoint went
// on from its newest one; a run that had ended was left alone.
TEST_F(SweepStudy, SurvivesTenKills) {
  ASSERT_EQ(Child(arguments("straight")).wait(), done);
  std::mt19937 engine(11);  // NOLINT(cert-msc51-cpp): the same moments each time, as far as a clock allows
  // Moments by the study's own clock, its checkpoints, so that a slow machine is killed in its work too: 48,000 steps
  // in all, of which ten kills wait for 22,000 on average. And a moment more, to end anywhere between two checkpoints.
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
  EXPECT_GE(resumed, 5U) << "hardly any run was killed in its work";

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
