// `lehi train`: exit codes, signals, kills, and one sentence for every bad input.
#include "cli/train.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX

#include <chrono>
#include <cmath>
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

using lehi::testing::same_bits;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string csv_text(int rows) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < rows; ++i) {
    text += fmt::format("{:.5f},{:.5f},{:.5f}\n", std::sin(i * 1.7), std::cos(i * 0.9),
                        std::sin(i * 1.7) * std::cos(i * 0.9));
  }
  return text;
}

class TrainCommand : public ::testing::Test {
 protected:
  TrainCommand() { spill(scratch / "t.csv", csv_text(300)); }

  std::string table() const { return "csv:" + (scratch / "t.csv").string(); }
  std::string out(const std::string& name) const { return (scratch / name).string(); }

  /// `steps` steps of training with a checkpoint every 200 steps.
  Arguments long_run(const std::string& name, int steps) const {
    return {"train",
            table(),
            "--target",
            "y",
            "--optimizer",
            "lehi-gn",
            "--steps",
            std::to_string(steps),
            "--out",
            out(name),
            "--resume",
            "--set",
            "train.evaluate_every=500",
            "--checkpoint-every",
            "200",
            "--set",
            "model.hidden=[16]"};
  }

  Scratch scratch;
};

TEST_F(TrainCommand, TrainsAndPrintsASummary) {
  const auto result =
      run({"train", table(), "--target", "y", "--epochs", "2", "--out", out("a"), "--optimizer", "adam"});
  EXPECT_EQ(result.code, done) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("status"), HasSubstr("done"), HasSubstr("test_loss"), HasSubstr(out("a"))));
  EXPECT_THAT(result.err, HasSubstr("100 %"));
  const auto again = run({"train", "--resume", "--out", out("a"), "--json"});
  EXPECT_EQ(again.code, done);
  EXPECT_EQ(again.json()["status"], "done");
  EXPECT_EQ(again.json()["optimizer"], "adam");
  EXPECT_THAT(again.err, HasSubstr("has already ended"));
}

TEST_F(TrainCommand, ADivergedRunExitsWithFour) {
  const auto result = run({"train", table(), "--target", "y", "--optimizer", "sgd", "--lr", "1e17", "--out", out("a")});
  EXPECT_EQ(result.code, diverged);
  EXPECT_THAT(result.out, HasSubstr("diverged"));
  EXPECT_EQ(run({"train", "--resume", "--out", out("a")}).code, diverged);
}

TEST_F(TrainCommand, HelpListsTheKeys) {
  EXPECT_THAT(run({"train", "--help-config"}).out,
              AllOf(HasSubstr("train.epochs"), HasSubstr("optimizer.refresh_every")));
}

TEST_F(TrainCommand, SavesAndExitsWithItsCodeOnASignal) {
  for (const auto& [number, code] : {std::pair(SIGTERM, 143), std::pair(SIGINT, 130)}) {
    const std::string name = fmt::format("signal{}", number);
    const Child child(long_run(name, 100'000'000));
    while (!std::filesystem::exists(scratch / name / "metrics.jsonl")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    child.send(number);
    EXPECT_EQ(child.wait(), code);
    const auto record = train::read_run_record(scratch / name / "run.json");
    EXPECT_EQ(record.status, train::RunStatus::interrupted);
    const auto newest = train::newest_valid(scratch / name / "checkpoints");
    ASSERT_TRUE(newest.found.has_value());
    EXPECT_EQ(newest.found->step, record.result["steps"]);
  }
}

// Killed at twenty random moments and resumed each time, a run ends with the bits of an uninterrupted run.
TEST_F(TrainCommand, SurvivesTwentyKills) {
  constexpr int steps = 100'000;
  ASSERT_EQ(Child(long_run("whole", steps)).wait(), done);
  std::mt19937 engine(7);  // NOLINT(cert-msc51-cpp): about the same moments each time
  std::uniform_int_distribution<int> milliseconds(0, 700);
  int killed = 0;
  for (int i = 0; i < 20; ++i) {
    const Child child(long_run("pieces", steps));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds(engine)));
    child.send(SIGKILL);
    if (child.wait() == -SIGKILL) ++killed;
  }
  EXPECT_GE(killed, 10) << "the run is too short to be killed";
  ASSERT_EQ(Child(long_run("pieces", steps)).wait(), done);

  auto whole = train::read_metrics(scratch / "whole" / "metrics.jsonl");
  auto pieces = train::read_metrics(scratch / "pieces" / "metrics.jsonl");
  EXPECT_EQ(whole.size(), steps / 500U);
  for (auto* lines : {&whole, &pieces}) {
    for (auto& line : *lines) {
      line.erase("seconds");
      line.erase("peak_memory_bytes");
    }
  }
  EXPECT_EQ(whole, pieces);
  const auto one = train::newest_valid(scratch / "whole" / "checkpoints").found.value().checkpoint.model;
  const auto two = train::newest_valid(scratch / "pieces" / "checkpoints").found.value().checkpoint.model;
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i].second, two[i].second)) << one[i].first;
}

TEST_F(TrainCommand, ReportsBadInputInOneSentenceAndWritesNothing) {
  spill(scratch / "ragged.csv", "a,b,y\n1,2,3\n1,2\n");
  spill(scratch / "headless.csv", "1,2,3\n4,5,6\n");
  spill(scratch / "nan.csv", "a,b,y\n1,nan,3\n1,2,3\n");
  spill(scratch / "empty.csv", "");
  std::filesystem::create_directories(scratch / "data" / "mnist");
  spill(scratch / "data" / "mnist" / "train-images-idx3-ubyte", "no idx file");
  for (const char* file : {"train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"}) {
    spill(scratch / "data" / "mnist" / file, "");
  }
  const auto csv = [this](const std::string& file, const std::string& target) {
    return Arguments{"train", "csv:" + (scratch / file).string(), "--target", target};
  };
  const std::vector<std::pair<Arguments, int>> bad = {
      {{"train"}, usage_error},
      {{"train", "mnits"}, usage_error},
      {{"train", "mnist", "--optimizer", "adan"}, usage_error},
      {{"train", "mnist", "--set", "train.epoch=3"}, usage_error},
      {{"train", "mnist", "--set", "train.epochs"}, usage_error},
      {{"train", "mnist", "--lr", "-1"}, usage_error},
      {{"train", "mnist", "--lr", "nan"}, usage_error},
      {{"train", "mnist", "--epochs", "-3"}, usage_error},
      {{"train", "mnist", "--preset", "huge"}, usage_error},
      {{"train", "mnist", "--config", "missing.toml"}, bad_input},
      {{"train", "mnist", "--target", "y", "--data-dir", out("data")}, usage_error},
      {{"train", "mnist", "--data-dir", out("data")}, bad_input},
      {{"train", "mnist", "--data-dir", out("nowhere")}, bad_input},
      {{"train", table()}, usage_error},
      {csv("t.csv", "z"), bad_input},
      {csv("missing.csv", "y"), bad_input},
      {csv("ragged.csv", "y"), bad_input},
      {csv("headless.csv", "y"), bad_input},
      {csv("nan.csv", "y"), bad_input},
      {csv("empty.csv", "y"), bad_input},
  };
  const auto before = scratch.names();
  for (const auto& [arguments, code] : bad) {
    auto with_out = arguments;
    with_out.insert(with_out.end(), {"--out", out("run")});
    const auto result = run(with_out);
    const std::string shown = fmt::format("{}", fmt::join(arguments, " "));
    EXPECT_EQ(result.code, code) << shown << ": " << result.err;
    EXPECT_EQ(result.out, "") << shown;
    EXPECT_THAT(result.err, AllOf(StartsWith("lehi: "), EndsWith("\n"))) << shown;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << shown << ": " << result.err;
    EXPECT_EQ(scratch.names(), before) << shown;
  }
}

TEST_F(TrainCommand, ReportsAnOutThatCannotBeWritten) {
  const auto quick = [this](const std::string& place) {
    return run({"train", table(), "--target", "y", "--epochs", "1", "--out", place});
  };
  EXPECT_EQ(quick("/proc/nobody/run").code, bad_input);
  EXPECT_THAT(quick("/proc/nobody/run").err, HasSubstr("cannot create the directory"));
  EXPECT_EQ(quick(out("t.csv")).code, bad_input);
  EXPECT_EQ(quick(out("a")).code, done);
  EXPECT_EQ(quick(out("a")).code, usage_error);
  const auto other = run({"train", table(), "--target", "y", "--epochs", "2", "--out", out("a"), "--resume"});
  EXPECT_EQ(other.code, bad_input);
  EXPECT_THAT(other.err, HasSubstr("a different run: train.epochs is 1 there and 2 here"));
}

// A full disk: no file may grow.
TEST_F(TrainCommand, AFullDiskIsOneSentence) {
  const auto result = run_process(fmt::format(
      "ulimit -f 0; trap '' XFSZ; \"$LEHI\" train '{}' --target y --epochs 1 --out '{}' 2>&1", table(), out("full")));
  EXPECT_EQ(result.code, bad_input) << result.out;
  EXPECT_THAT(result.out, HasSubstr("cannot write"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "full")) << "no directory may be left";
}

}  // namespace
}  // namespace lehi::cli
