// Whole contests whose runs are a stand-in for `lehi train`: a formula of the run's configuration,
// stand_in.sh.
#include "contest/run_contest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "contest/choices.h"
#include "contest/contest_json.h"
#include "contest/example.h"
#include "contest/plan.h"
#include "files/files.h"
#include "support/support.h"
#include "train/run_record.h"
#include "train/scratch.h"

namespace lehi::contest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kSmallContest;
using testing::message_of;
using testing::replaced;
using testing::slurp;
using testing::spill;

/// The stand-in's test loss.
double loss_of(const std::string& name, double lr, double decay, std::int64_t steps, std::uint64_t seed) {
  const double speed = name == "muon" ? 3.0 : 1.0;
  const double d = std::log(lr / 0.01) / std::log(10.0);
  return 1.0 + d * d + 100.0 / (speed * static_cast<double>(steps)) + 0.001 * static_cast<double>(seed) +
         (decay == 0.25 ? 0.0 : 0.01);
}

class ContestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::copy_file(LEHI_SOURCE_DIR "/tests/contest/stand_in.sh", tools_ / "stand-in");
    ::chmod((tools_ / "stand-in").c_str(), 0755);
    for (const auto status : {train::RunStatus::done, train::RunStatus::diverged}) {
      train::RunRecord record;
      record.status = status;
      record.task = "protein";
      record.parameters = 1101;
      record.started = record.finished = "2024-05-06T07:08:09Z";
      record.message = status == train::RunStatus::diverged ? "the loss is not finite" : "";
      record.result = {{"steps", 776001}, {"split", {{"step", 776002}, {"batch", 0.0}}}};
      train::write_run_record(tools_ / (std::string(train::status_name(status)) + ".json"), record);
    }
    // The record of a run that diverged has times as well.
    auto diverged = slurp(tools_ / "diverged.json");
    diverged = replaced(replaced(diverged, "776001", "10"), "776002", "0.005");
    spill(tools_ / "diverged.json", diverged);
    write_contest(kSmallContest);
    request_.directory = scratch_ / "contest";
    request_.command_line = {"lehi", "contest"};
    request_.runner.program = (tools_ / "stand-in").string();
    request_.runner.jobs = 8;
  }

  void write_contest(const std::string& text) {
    spill(tools_ / "c.toml", text);
    request_.file = (tools_ / "c.toml").string();
  }

  ContestOutcome run() {
    err_.str("");
    return run_contest(request_, err_);
  }

  ContestOutcome resume() {
    request_.resume = true;
    return run();
  }

  std::size_t started() const {
    if (!std::filesystem::exists(tools_ / "started")) return 0;
    const auto text = slurp(tools_ / "started");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  static const ArmResult& arm_of(const Result& result, const std::string& name) {
    const auto& arms = result.tasks.at(0).arms;
    return *std::find_if(arms.begin(), arms.end(), [&](const auto& arm) { return arm.arm == name; });
  }

  /// contest.json without the times of day.
  static std::string timeless(Result result) {
    result.started = result.finished = "";
    return to_json(result).dump(1);
  }

  testing::Scratch tools_;
  testing::Scratch scratch_;
  ContestRequest request_;
  std::ostringstream err_;
};

TEST_F(ContestTest, TunesEveryArmAndComparesAtEqualTime) {
  const auto result = run().result;
  EXPECT_THAT(result.missing, IsEmpty());
  EXPECT_NE(result.finished, "");
  ASSERT_EQ(result.tasks.size(), 1U);
  const auto& task = result.tasks[0];
  EXPECT_EQ(task.parameters, 1101);
  EXPECT_EQ(task.batch_size, 128);
  EXPECT_EQ(task.metric, "test_loss");
  EXPECT_EQ(task.tuning_metric, "validation_loss");

  const auto& adamw = arm_of(result, "adamw");
  const auto& muon = arm_of(result, "muon");
  const auto& lion = arm_of(result, "lion");
  EXPECT_NEAR(muon.time.ratio, 2.0, 1e-12);
  EXPECT_NEAR(lion.time.ratio, 0.5, 1e-12);
  EXPECT_EQ(adamw.steps, 400);
  EXPECT_EQ(muon.steps, 200);
  EXPECT_EQ(lion.steps, 800);

  ASSERT_EQ(adamw.trials.size(), 5U);
  EXPECT_NEAR(adamw.trials[0].value, 0.5 + loss_of("adamw", 1e-3, 0.0, 400, 0) + 0.0005, 1e-12) << "seeds 0 and 1";
  EXPECT_EQ(adamw.lr, 0.01);
  EXPECT_EQ(adamw.knob, "optimizer.weight_decay=0.25");
  EXPECT_FALSE(adamw.rate_at_edge);
  EXPECT_EQ(muon.lr, 0.01);
  EXPECT_EQ(muon.knob, "");
  EXPECT_TRUE(muon.rate_at_edge);
  EXPECT_TRUE(std::isnan(lion.trials[2].value)) << "diverged at 0.1";
  EXPECT_EQ(lion.label, "Lion");

  ASSERT_EQ(muon.values.size(), 3U);
  EXPECT_EQ(muon.values[2].seed, 102U);
  EXPECT_NEAR(muon.values[2].value, loss_of("muon", 0.01, 0.0, 200, 102), 1e-12);
  EXPECT_FALSE(adamw.speed_up);
  EXPECT_EQ(to_json(read_result(request_.directory)).dump(), to_json(result).dump());
}

TEST_F(ContestTest, TheSpeedUpIsThatOfASearchThroughAllFractions) {
  const auto result = run().result;
  for (const std::string name : {"muon", "lion"}) {
    const double decay = name == "lion" ? 0.25 : 0.0;  // as chosen
    std::optional<double> smallest;
    for (const double fraction : speed_up_fractions()) {
      const auto steps = std::llround(400 * fraction);
      if (!smallest && loss_of(name, 0.01, decay, steps, 100) <= loss_of("adamw", 0.01, 0.25, 400, 100)) {
        smallest = fraction;
      }
    }
    const auto& arm = arm_of(result, name);
    ASSERT_TRUE(arm.speed_up) << name;
    EXPECT_EQ(arm.speed_up->steps_fraction, smallest) << name;
    ASSERT_TRUE(smallest);
    EXPECT_NEAR(*arm.speed_up->seconds_fraction, *smallest * arm.time.ratio, 1e-12);
    for (const auto& point : arm.speed_up->points) EXPECT_EQ(point.values.size(), 2U) << "speed_up_seeds";
  }
}

TEST_F(ContestTest, AContestThatWasStoppedEndsWithTheSameResult) {
  const auto whole = timeless(run().result);
  request_.directory = scratch_ / "stopped";
  for (const char* where :
       {"/speed/.*muon.*seed1", "/rates/.*lion.*lr0.01-seed1", "/verdict/.*seed101", "/speedup-round2/.*"}) {
    spill(tools_ / "stop", where);
    const auto outcome = run();
    EXPECT_EQ(outcome.signal, SIGTERM) << where;
    EXPECT_FALSE(outcome.result.missing.empty());
    EXPECT_EQ(outcome.result.finished, "");
    EXPECT_FALSE(std::filesystem::exists(tools_ / "stop"));
    request_.resume = true;
    request_.file = "";  // the directory's
  }
  EXPECT_EQ(timeless(run().result), whole);
  const auto before = started();
  EXPECT_EQ(timeless(run().result), whole);
  EXPECT_EQ(started(), before) << "a finished contest runs nothing";
}

TEST_F(ContestTest, ArmsAndTasksMayBeAddedLater) {
  const auto whole = timeless(run().result);
  request_.directory = scratch_ / "grown";
  request_.arms = {"adamw", "lion"};
  const auto first = run().result;
  EXPECT_THAT(first.missing, ElementsAre("little: muon has not been run"));
  EXPECT_EQ(first.tasks[0].arms.size(), 2U);
  const auto before = started();
  request_.arms = {};
  EXPECT_EQ(timeless(resume().result), whole);
  const auto text = slurp(tools_ / "started");
  EXPECT_THAT(text, HasSubstr("grown/little/speed-2/little-adamw")) << "times are measured beside the baseline";
  EXPECT_EQ(text.find("grown/little/rates-2/little-adamw"), std::string::npos) << "its rates are not tried again";
  EXPECT_GT(started(), before);
  write_contest(kSmallContest + "[[task]]\nname = \"more\"\ntask = \"protein\"\nsteps = 200\n");
  const auto more = run().result;
  ASSERT_EQ(more.tasks.size(), 2U);
  EXPECT_THAT(more.missing, IsEmpty());
  EXPECT_EQ(more.tasks[1].arms[0].steps, 200);
}

TEST_F(ContestTest, TheTimesOfAllTasksAreMeasuredBeforeAnyTrial) {
  write_contest(kSmallContest + "[[task]]\nname = \"more\"\ntask = \"protein\"\nsteps = 200\n");
  EXPECT_THAT(run().result.missing, IsEmpty());
  std::istringstream lines(slurp(tools_ / "started"));
  std::vector<std::string> tasks_measured;
  bool trials_begun = false;
  for (std::string line; std::getline(lines, line);) {
    const bool speed = line.find("/speed/") != std::string::npos;
    EXPECT_FALSE(speed && trials_begun) << line;
    trials_begun = trials_begun || !speed;
    const std::string task = line.find("/more/") != std::string::npos ? "more" : "little";
    if (speed && (tasks_measured.empty() || tasks_measured.back() != task)) tasks_measured.push_back(task);
  }
  EXPECT_THAT(tasks_measured, ElementsAre("little", "more"));
  EXPECT_TRUE(trials_begun);
}

TEST_F(ContestTest, ARunThatFailsHoldsUpItsArmOnly) {
  spill(tools_ / "fail", "/rates/.*lion.*lr0.01-seed1");
  const auto outcome = run();
  EXPECT_EQ(outcome.failed_code, 3);
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(arm_of(outcome.result, "muon").values.size(), 3U);
  EXPECT_THAT(arm_of(outcome.result, "lion").values, IsEmpty());
  ASSERT_EQ(outcome.result.missing.size(), 1U);
  EXPECT_THAT(outcome.result.missing[0],
              ::testing::AllOf(HasSubstr("little, rates: lion has failed runs"), HasSubstr("no memory")));
  std::filesystem::remove(tools_ / "fail");
  const auto repaired = resume();
  EXPECT_THAT(repaired.result.missing, IsEmpty());
  EXPECT_EQ(repaired.failed_code, 0);
  request_.directory = scratch_ / "whole";
  EXPECT_EQ(timeless(repaired.result), timeless(run().result));
}

TEST_F(ContestTest, AnArmThatAlwaysDivergesHasAVerdictToo) {
  write_contest(replaced(kSmallContest, "label = \"Lion\"\nrates = [1e-3, 1e-2, 1e-1]", "rates = [1e-1]"));
  const auto result = run().result;
  EXPECT_THAT(result.missing, IsEmpty());
  const auto& lion = arm_of(result, "lion");
  ASSERT_EQ(lion.values.size(), 3U);
  for (const auto& value : lion.values) EXPECT_TRUE(std::isnan(value.value));
  ASSERT_TRUE(lion.speed_up);
  EXPECT_FALSE(lion.speed_up->steps_fraction) << "never reached";
  EXPECT_EQ(lion.speed_up->points.back().fraction, 1.0);
}

TEST_F(ContestTest, RejectsADirectoryWithAnythingElseAndAChangedFile) {
  make_directories(scratch_ / "full");
  spill(scratch_ / "full/file", "x");
  request_.directory = scratch_ / "full";
  EXPECT_THAT(message_of([&] { run(); }), HasSubstr("holds no contest"));
  request_.directory = scratch_ / "contest";
  request_.check = [](const auto&) { throw FileError("no data"); };
  EXPECT_EQ(message_of([&] { run(); }), "no data");
  EXPECT_FALSE(std::filesystem::exists(request_.directory)) << "nothing is written";
  request_.check = [](const auto&) {};
  request_.arms = {"adamw"};
  run();
  EXPECT_THAT(message_of([&] { run(); }), HasSubstr("add --resume"));
  write_contest(replaced(kSmallContest, "steps = 400", "steps = 300"));
  EXPECT_THAT(message_of([&] { resume(); }), HasSubstr("steps of little is 400 there and 300 here"));
  request_.file = "";
  request_.directory = scratch_ / "none";
  EXPECT_THAT(message_of([&] { run(); }), HasSubstr("holds no contest to resume"));
  request_.directory = scratch_ / "contest";
  const DirectoryLock lock(request_.directory);
  EXPECT_THAT(message_of([&] { run(); }), HasSubstr("in use by another lehi process"));
}

}  // namespace
}  // namespace lehi::contest
