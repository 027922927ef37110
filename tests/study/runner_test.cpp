// The runner with a stand-in for `lehi train`, see stand_in.h.
#include "study/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "study/stand_in.h"
#include "study/stored_plan.h"
#include "support/environment.h"
#include "support/support.h"
#include "train/scratch.h"

namespace lehi::study {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
using testing::Scratch;
using ::testing::SizeIs;

class RunnerTest : public testing::StandInTest {};

TEST_F(RunnerTest, RunsEverythingAndRecordsHowItEnded) {
  request_.data_dir = "some data";
  const auto outcome = run(plan_of({"lehi", "sgd", "adamw", "nadam", "adam"}));
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.failed_code, 1) << "the exit codes of the failed runs differ";
  EXPECT_EQ(started(), 5U);
  EXPECT_THAT(testing::slurp(tools_ / "started"), HasSubstr("--data-dir some data"));
  const auto study = read_study(request_.directory);
  EXPECT_EQ(to_json(study), to_json(outcome.study));
  std::vector<std::string> ends;
  for (const auto& entry : study.runs) ends.emplace_back(status_text(entry));
  EXPECT_THAT(ends, ::testing::ElementsAre("done", "diverged", "failed", "failed", "done"));
  EXPECT_EQ(study.runs[2].message, "ended with exit code 3: the disk is on fire");
  EXPECT_THAT(study.runs[3].message, HasSubstr("SIGKILL"));
  EXPECT_NEAR(study.runs[0].mean("test_loss"), (0.9 + 0.5 + 0.3) / 3, 1e-15);
  EXPECT_NE(study.finished, "");
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("protein sgd lr 0.01 seed 0: diverged"), HasSubstr("the disk is on fire"),
                                HasSubstr("protein lehi lr 0.1 seed 0: started"), Not(HasSubstr("\x1b"))));
}

TEST_F(RunnerTest, ARunDoesNotInheritTheRankOfItsStudy) {
  const testing::Environment size("WORLD_SIZE", "4");
  const testing::Environment rank("RANK", "3");
  const testing::Environment other("LEHI_TEST_OTHER", "stays");
  EXPECT_TRUE(run(plan_of({"lehi"})).study.runs[0].done());
  const auto seen = "\n" + testing::slurp(tools_ / "environment");
  EXPECT_THAT(
      seen, AllOf(HasSubstr("\nLEHI_TEST_OTHER=stays\n"), Not(HasSubstr("\nWORLD_SIZE=")), Not(HasSubstr("\nRANK="))));
}

TEST_F(RunnerTest, DoesNotRunFinishedRunsAgainAndFailedOnesOnlyWhenAsked) {
  const auto plan = plan_of({"lehi", "sgd", "adamw"});
  run(plan);
  EXPECT_EQ(started(), 3U);
  request_.resume = true;
  EXPECT_EQ(run(plan).failed_code, 0);
  EXPECT_EQ(started(), 3U);
  request_.retry_failed = true;
  EXPECT_EQ(run(plan).failed_code, 3);
  EXPECT_EQ(started(), 4U);
}

TEST_F(RunnerTest, ContinuesAKilledStudy) {
  const auto plan = plan_of({"lehi", "adam"});
  auto study = new_study("compare", {"lehi"}, plan);
  study.runs[0].status = train::RunStatus::running;  // as a study that was killed leaves it
  make_directories(request_.directory);
  write_study(request_.directory, study);
  testing::spill(request_.directory / "study.json.tmp-1-1", "torn");
  request_.resume = true;
  const auto outcome = run(plan);
  EXPECT_TRUE(outcome.study.runs[0].done());
  EXPECT_TRUE(outcome.study.runs[1].done());
  EXPECT_FALSE(std::filesystem::exists(request_.directory / "study.json.tmp-1-1"));
}

TEST_F(RunnerTest, ForwardsASignalAndStartsNoMoreRuns) {
  request_.jobs = 1;
  const auto plan = plan_of({"adagrad", "lehi"});
  std::thread stopper([&] {
    while (!std::filesystem::exists(tools_ / "waiting")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(::getpid(), SIGTERM);
  });
  const auto outcome = run(plan);
  stopper.join();
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_EQ(outcome.failed_code, 0);
  const auto study = read_study(request_.directory);
  EXPECT_EQ(status_text(study.runs[0]), "interrupted");
  EXPECT_EQ(status_text(study.runs[1]), "waiting");
  EXPECT_EQ(study.finished, "");
  EXPECT_THAT(err_.str(), HasSubstr("stopping"));
}

TEST_F(RunnerTest, RejectsADirectoryWithAnythingElse) {
  const auto plan = plan_of({"lehi"});
  run(plan);
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("add --resume"));
  request_.resume = true;
  EXPECT_THAT(message_of([&] { run(plan_of({"adam"})); }), HasSubstr("holds a different study"));
  request_.kind = "sweep";
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("`lehi compare`"));
  testing::spill(scratch_ / "file", "x");
  request_.directory = scratch_ / "file";
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("is not a directory"));
  make_directories(scratch_ / "full");
  testing::spill(scratch_ / "full/file", "x");
  request_.directory = scratch_ / "full";
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("is not empty and holds no study"));
  EXPECT_EQ(started(), 1U);
}

TEST_F(RunnerTest, RefusesADirectoryThatAnotherStudyRunsIn) {
  make_directories(request_.directory);
  const int other = ::open(request_.directory.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT(message_of([&] { run(plan_of({"lehi"})); }), HasSubstr("another lehi process"));
  ::close(other);
  EXPECT_TRUE(run(plan_of({"lehi"})).study.runs[0].done());
}

TEST_F(RunnerTest, WritesNothingWhenTheCheckFailsOrTheDirectoryIsReadOnly) {
  request_.check = [] { throw FileError("no data"); };
  EXPECT_EQ(message_of([&] { run(plan_of({"lehi"})); }), "no data");
  EXPECT_THAT(scratch_.names(), SizeIs(0));
  request_.check = [] {};
  request_.jobs = 0;
  EXPECT_THAT(message_of([&] { run(plan_of({"lehi"})); }), HasSubstr("jobs is 0"));
  EXPECT_THAT(scratch_.names(), SizeIs(0));
  request_.jobs = 1;
  request_.directory = "/proc/no/such/place";
  EXPECT_THAT(message_of([&] { run(plan_of({"lehi"})); }), HasSubstr("/proc/no"));
}

TEST_F(RunnerTest, ReportsAMissingProgram) {
  request_.program = (tools_ / "nothing").string();
  const auto outcome = run(plan_of({"lehi"}));
  EXPECT_THAT(outcome.study.runs[0].message, AllOf(HasSubstr("cannot start"), HasSubstr("No such file")));
}

TEST_F(RunnerTest, RunsTheSecondPhaseAfterTheFirst) {
  const auto plan = phased_plan({"lehi", "adam"});
  const auto outcome = run(plan.runs);
  EXPECT_EQ(started(), 6U + 4U);
  EXPECT_THAT(
      directories(outcome.study),
      ::testing::ElementsAre("protein-lehi-lr0.001-seed0", "protein-adam-lr0.001-seed0", "protein-lehi-lr0.01-seed0",
                             "protein-adam-lr0.01-seed0", "protein-lehi-lr0.1-seed0", "protein-adam-lr0.1-seed0",
                             "protein-lehi-lr0.01-seed1", "protein-adam-lr0.01-seed1", "protein-lehi-lr0.01-seed2",
                             "protein-adam-lr0.01-seed2"));
  for (const auto& entry : outcome.study.runs) EXPECT_TRUE(entry.done()) << entry.directory;
  EXPECT_EQ(to_json(read_study(request_.directory)), to_json(outcome.study));
  EXPECT_NE(outcome.study.finished, "");
  EXPECT_THAT(err_.str(), HasSubstr("second phase: 4 runs"));
  request_.resume = true;
  EXPECT_EQ(to_json(run(plan.runs).study), to_json(outcome.study)) << "nothing is left to run";
  EXPECT_EQ(started(), 10U);
  auto other = request_.second_phases;
  request_.second_phases.clear();
  EXPECT_THAT(message_of([&] { run(plan.runs); }), HasSubstr("it has two phases"));
  request_.second_phases = other;
  request_.second_phases[0].best = 2;
  EXPECT_THAT(message_of([&] { run(plan.runs); }), HasSubstr("holds a different study: its second phase"));
}

TEST_F(RunnerTest, ContinuesAfterAStopAtAnyPointOfTheSecondPhase) {
  const auto plan = phased_plan({"lehi", "adam"});
  const auto whole = run(plan.runs).study;
  request_.resume = true;
  // Killed between the phases; killed when the second was known but none of its files was there; and after one of them.
  for (const int left : {0, 1, 2}) {
    auto cut = whole;
    cut.finished.clear();
    for (auto& entry : cut.runs) {
      if (entry.phase != 2 || (left == 2 && entry.directory == "protein-lehi-lr0.01-seed1")) continue;
      std::filesystem::remove_all(request_.directory / entry.directory);
      entry.status = train::RunStatus::running;
    }
    if (left == 0) std::erase_if(cut.runs, [](const auto& entry) { return entry.phase == 2; });
    write_study(request_.directory, cut);
    const auto before = started();
    auto resumed = run(read_plan(request_.directory, read_study(request_.directory))).study;
    EXPECT_EQ(started() - before, left == 2 ? 3U : 4U);
    resumed.finished = whole.finished;
    EXPECT_EQ(to_json(resumed), to_json(whole));
  }
}

TEST_F(RunnerTest, TheSecondPhaseOfAnOptimizerWaitsForItsFailedRuns) {
  const auto plan = phased_plan({"adamw", "lehi"});
  const auto first = run(plan.runs);
  EXPECT_EQ(first.failed_code, 3);
  EXPECT_EQ(started(), 6U + 2U);
  EXPECT_THAT(err_.str(), HasSubstr("the second phase of adamw on protein waits for 3 runs that failed"));
  request_.resume = true;
  run(plan.runs);
  EXPECT_EQ(started(), 8U) << "failed runs are run again only when asked";
  testing::spill(tools_ / "repaired", "");
  request_.retry_failed = true;
  const auto repaired = run(plan.runs);
  EXPECT_EQ(repaired.failed_code, 0);
  EXPECT_EQ(started(), 8U + 3U + 2U);
  EXPECT_EQ(directories(repaired.study)[6], "protein-adamw-lr0.01-seed1") << "in its place, before lehi's";
}

TEST_F(RunnerTest, RetriesFailedRunsOfTheSecondPhase) {
  const auto plan = phased_plan({"rmsprop"});
  EXPECT_EQ(run(plan.runs).failed_code, 3);
  EXPECT_EQ(started(), 3U + 2U);
  testing::spill(tools_ / "repaired", "");
  request_.resume = true;
  request_.retry_failed = true;
  const auto repaired = run(plan.runs);
  EXPECT_EQ(started(), 6U);
  for (const auto& entry : repaired.study.runs) EXPECT_TRUE(entry.done()) << entry.directory;
}

TEST_F(RunnerTest, ASignalInTheFirstPhasePostponesTheSecond) {
  request_.jobs = 1;
  const auto plan = phased_plan({"adagrad"});
  std::thread stopper([&] {
    while (!std::filesystem::exists(tools_ / "waiting")) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(::getpid(), SIGTERM);
  });
  const auto outcome = run(plan.runs);
  stopper.join();
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_EQ(outcome.study.runs.size(), 3U);
  EXPECT_EQ(outcome.study.finished, "");
}

TEST_F(RunnerTest, RejectsRunDirectoriesOutsideTheStudy) {
  const auto plan = plan_of({"lehi"});
  run(plan);
  request_.resume = true;
  const auto path = request_.directory / "study.json";
  auto document = nlohmann::json::parse(testing::slurp(path));
  for (const auto* name : {"../outside", "/tmp/outside", "<script>", "..", ""}) {
    document["runs"][0]["directory"] = name;
    testing::spill(path, document.dump());
    EXPECT_THAT(message_of([&] { run(plan); }), AllOf(HasSubstr("'directory' is"), HasSubstr("run 1"))) << name;
  }
  document["runs"][0]["directory"] = plan[0].directory;
  testing::spill(path, document.dump());
  std::filesystem::rename(request_.directory / plan[0].directory, scratch_ / "outside");
  std::filesystem::create_directory_symlink(scratch_ / "outside", request_.directory / plan[0].directory);
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("symbolic link"));
  EXPECT_EQ(started(), 1U);
}

}  // namespace
}  // namespace lehi::study
