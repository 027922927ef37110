// The runner with a stand-in for `lehi train`: a shell script that ends in the way that its run's optimizer says.
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

#include "study/fake.h"
#include "study/progress.h"
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

// $1..: train --resume --out DIR --progress lines [--data-dir D]
constexpr const char* kStandIn = R"(#!/bin/sh
here=$(dirname "$0")
out=$4
end() {
  cp "$here/metrics.jsonl" "$out/metrics.jsonl"
  cp "$here/$1.json" "$out/run.json"
}
test "$1 $2 $3 $5 $6" = "train --resume --out --progress lines" || { echo "bad arguments: $*" >&2; exit 2; }
test -f "$out/config.toml" || { echo "no config.toml" >&2; exit 3; }
echo "$out $7 $8" >> "$here/started"
echo '{"step":1,"total":4,"epoch":1,"seconds":0.1,"train_loss":0.5}'
echo 'not a report'
case "$out" in
  *-adamw-*) echo "lehi: some notice" >&2; echo "lehi: the disk is on fire" >&2; exit 3 ;;
  *-nadam-*) kill -KILL $$ ;;
  *-sgd-*) end diverged; exit 4 ;;
  *-lehi-*) ;;
  *-adagrad-*)
    trap 'end interrupted; exit 143' TERM
    touch "$here/waiting"
    while :; do sleep 0.02; done ;;
esac
end done
)";

class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::spill(tools_ / "stand-in", kStandIn);
    ::chmod((tools_ / "stand-in").c_str(), 0755);
    testing::spill(tools_ / "metrics.jsonl", testing::fake_metrics);
    for (const auto status : {train::RunStatus::done, train::RunStatus::diverged, train::RunStatus::interrupted}) {
      train::write_run_record(tools_ / (std::string(train::status_name(status)) + ".json"),
                              testing::fake_record(status));
    }
    request_.directory = scratch_ / "study";
    request_.kind = "compare";
    request_.command_line = {"lehi", "compare", "protein"};
    request_.program = (tools_ / "stand-in").string();
    request_.jobs = 2;
  }

  static std::vector<PlannedRun> plan_of(const std::vector<std::string>& optimizers,
                                         const std::vector<std::uint64_t>& seeds = {0}) {
    PlanRequest request;
    request.tasks = {"protein"};
    request.optimizers = optimizers;
    request.seeds = seeds;
    return make_plan(request);
  }

  StudyOutcome run(const std::vector<PlannedRun>& plan) {
    err_.str("");
    return run_study(plan, request_, err_);
  }

  std::size_t started() const {
    if (!std::filesystem::exists(tools_ / "started")) return 0;
    const auto text = testing::slurp(tools_ / "started");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  Scratch tools_;
  Scratch scratch_;
  RunnerRequest request_;
  std::ostringstream err_;
};

TEST_F(RunnerTest, RunsEverythingAndRecordsHowItEnded) {
  request_.data_dir = "some data";
  const auto outcome = run(plan_of({"lehi", "sgd", "adamw", "nadam", "adam"}));
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.failed_code, 1) << "the failed ones do not agree";
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

TEST_F(RunnerTest, GoesOnWithWhatAKilledStudyLeft) {
  const auto plan = plan_of({"lehi", "adam"});
  auto study = new_study("compare", {"lehi"}, plan);
  study.runs[0].status = train::RunStatus::running;  // as a study that was killed leaves it
  train::make_directories(request_.directory);
  write_study(request_.directory, study);
  testing::spill(request_.directory / "study.json.tmp-1-1", "torn");
  request_.resume = true;
  const auto outcome = run(plan);
  EXPECT_TRUE(outcome.study.runs[0].done());
  EXPECT_TRUE(outcome.study.runs[1].done());
  EXPECT_FALSE(std::filesystem::exists(request_.directory / "study.json.tmp-1-1"));
}

TEST_F(RunnerTest, PassesASignalOnAndStopsStartingRuns) {
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

TEST_F(RunnerTest, RefusesWhatIsNotItsOwn) {
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
  train::make_directories(scratch_ / "full");
  testing::spill(scratch_ / "full/letter", "x");
  request_.directory = scratch_ / "full";
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("something else"));
  EXPECT_EQ(started(), 1U);
}

TEST_F(RunnerTest, RefusesADirectoryThatAnotherStudyRunsIn) {
  train::make_directories(request_.directory);
  const int other = ::open(request_.directory.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT(message_of([&] { run(plan_of({"lehi"})); }), HasSubstr("another lehi"));
  ::close(other);
  EXPECT_TRUE(run(plan_of({"lehi"})).study.runs[0].done());
}

TEST_F(RunnerTest, WritesNothingWhenTheCheckFailsOrTheDirectoryIsReadOnly) {
  request_.check = [] { throw train::FileError("no data"); };
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

TEST_F(RunnerTest, SaysWhenTheProgramIsMissing) {
  request_.program = (tools_ / "nothing").string();
  const auto outcome = run(plan_of({"lehi"}));
  EXPECT_THAT(outcome.study.runs[0].message, AllOf(HasSubstr("cannot start"), HasSubstr("No such file")));
}

TEST(StudyProgress, ReadsReportsAndNothingElse) {
  const auto report = parse_report(R"({"step":123,"total":11725,"epoch":3,"seconds":1.9,"train_loss":0.41})");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->step, 123);
  EXPECT_EQ(report->total, 11725);
  EXPECT_EQ(report->epoch, 3);
  EXPECT_EQ(report->train_loss, 0.41);
  EXPECT_TRUE(std::isnan(parse_report(R"({"step":1,"total":2,"train_loss":null})")->train_loss));
  for (const auto* line : {"", "hello", "{", "[1]", R"({"step":1})", R"({"step":-1,"total":2})",
                           R"({"step":"1","total":2})", R"({"step":1,"total":0})"}) {
    EXPECT_FALSE(parse_report(line)) << line;
  }
}

TEST(StudyProgress, WritesDurationsForPeople) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(125.0), "2 min 05 s");
  EXPECT_EQ(duration_text(3720.0), "1 h 02 min");
  EXPECT_EQ(duration_text(-1.0), "0 s");
}

TEST(StudyProgress, EstimatesWhatIsLeft) {
  std::ostringstream err;
  std::vector<StudyRun> runs(3, testing::fake_run("lehi", 0.1, 0, 0.3));
  for (auto& entry : runs) entry.status.reset();
  Progress progress(err, {}, 1, runs);
  EXPECT_FALSE(progress.seconds_left(0.0));
  progress.started(0, 100.0);
  progress.reported(0, {.step = 0, .total = 100}, 101.0);
  EXPECT_FALSE(progress.seconds_left(0, 101.0)) << "one report gives no speed";
  progress.reported(0, {.step = 20, .total = 100}, 103.0);  // 10 steps a second: 80 steps, 8 seconds
  EXPECT_NEAR(*progress.seconds_left(0, 103.0), 8.0, 1e-9);
  EXPECT_NEAR(*progress.seconds_left(0, 104.0), 7.0, 1e-9);
  // This run will have taken 3 + 8 seconds; so will the two that wait.
  EXPECT_NEAR(*progress.seconds_left(103.0), 8.0 + 2 * 11.0, 1e-9);
  auto ended = testing::fake_run("lehi", 0.1, 0, 0.3);
  progress.ended(0, ended, 110.0);
  EXPECT_NEAR(*progress.seconds_left(110.0), 2 * 10.0, 1e-9);
}

TEST(StudyProgress, RedrawsInPlaceOnATerminalOnly) {
  const std::vector<StudyRun> runs = {testing::fake_run("lehi", 0.1, 0, 0.3)};
  std::ostringstream live;
  Progress terminal(live, {.live = true, .width = 40}, 1, runs);
  terminal.started(0, 0.0);
  terminal.tick(0.0);
  terminal.reported(0, {.step = 1, .total = 2, .epoch = 1, .train_loss = 0.5}, 0.1);
  terminal.tick(0.1);  // too early
  terminal.tick(1.0);
  EXPECT_THAT(live.str(), HasSubstr("\x1b[2A"));
  std::istringstream lines(live.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LT(line.size(), 40U + 8U) << "longer lines would wrap";
  std::ostringstream plain;
  Progress file(plain, {}, 1, runs);
  file.started(0, 0.0);
  for (int i = 0; i < 100; ++i) file.tick(0.25 * i);
  const auto text = plain.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;  // started, and one line every ten seconds
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace lehi::study
