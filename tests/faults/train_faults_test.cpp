// A training run with a disk fault or a kill at any of its file operations: its files stay readable, and after
// resumption it has the same bits as an undisturbed run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "cli/run.h"
#include "faults/differences.h"
#include "faults/fault_points.h"
#include "faults/harness.h"
#include "files/files.h"
#include "train/run_record.h"
#include "train/scratch.h"

namespace lehi::faults {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using train::RunStatus;

void write_small_table(const fs::path& path) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("{:.5f},{:.5f},{:.5f}\n", std::sin(i * 1.7), std::cos(i * 0.9), std::sin(i * 1.7 + i * 0.9));
  }
  testing::spill(path, text);
}

class TrainFaults : public ::testing::Test {
 protected:
  TrainFaults() : layer(scratch.path(), scratch / "w") {
    write_small_table(scratch / "t.csv");
    fs::create_directory(scratch / "w");
  }

  /// 8 steps: evaluations at steps 3, 6 and 8, checkpoints at 2, 4, 6 and 8, of which two are kept.
  cli::Arguments arguments(const std::string& name) const {
    return {"train",
            "csv:" + (scratch / "t.csv").string(),
            "--target",
            "y",
            "--optimizer",
            "lehi-gn",
            "--steps",
            "8",
            "--batch-size",
            "8",
            "--set",
            "train.evaluate_every=3",
            "--checkpoint-every",
            "2",
            "--keep",
            "2",
            "--set",
            "model.hidden=[3]",
            "--resume",
            "--out",
            (scratch / "w" / name).string()};
  }

  /// Checks the directory between a fault and the resumption.
  void expect_readable(const Ended& ended, const Fault& fault, const fs::path& run) const {
    const auto shown = text_of(fault) + ":\n" + ended.err;
    if (!fs::exists(run / "run.json")) {
      EXPECT_NE(ended.code, cli::done) << shown;
      // A run that failed before its first step leaves no directory.
      EXPECT_TRUE(!is_temporary(fault.kind) || !fs::exists(run)) << shown;
      return;
    }
    const auto status = train::read_run_record(run / "run.json").status;
    std::set<RunStatus> right = {RunStatus::done};
    if (kills_process(fault.kind)) right.insert(RunStatus::running);
    if (is_temporary(fault.kind) && ended.code != cli::done) right.insert(RunStatus::failed);
    // If nothing can be written any more, the status stays as it was.
    if (!is_temporary(fault.kind) && ended.code != cli::done) right.insert({RunStatus::running, RunStatus::failed});
    EXPECT_TRUE(right.count(status)) << shown << "the run is " << train::status_name(status);
  }

  testing::Scratch scratch;
  Layer layer;
};

TEST_F(TrainFaults, AtAnyOperationARunResumesToTheSameBits) {
  const auto straight = layer.run(arguments("straight"));
  ASSERT_EQ(straight.code, cli::done) << straight.err;
  ASSERT_GT(straight.operations, 100) << "the layer counts too few operations";
  const auto run = scratch / "w/run";
  std::map<Kind, int> struck;
  for (const auto& fault : fault_points(straight.operations, 49)) {
    const auto ended = layer.run(arguments("run"), fault);
    ASSERT_TRUE(ended.struck) << text_of(fault);
    EXPECT_EQ(ended.code == -9, kills_process(fault.kind)) << text_of(fault);
    ++struck[fault.kind];
    expect_good_message(ended, fault);
    expect_readable(ended, fault, run);
    const auto resumed = layer.run(arguments("run"));
    EXPECT_EQ(resumed.code, cli::done) << text_of(fault) << ":\n" << ended.err << "resumed:\n" << resumed.err;
    EXPECT_THAT(run_differences(scratch / "w/straight", run), IsEmpty()) << text_of(fault) << ":\n" << ended.err;
    if (HasFailure()) break;
    fs::remove_all(run);
  }
  int all = 0;
  for (const auto& [kind, count] : struck) all += count;
  fmt::print("train: {} operations, {} faults of {} kinds\n", straight.operations, all, struck.size());
}

// One fault after another, also during resumption.
TEST_F(TrainFaults, SeveralInARowARunResumesToTheSameBits) {
  ASSERT_EQ(layer.run(arguments("straight")).code, cli::done);
  std::mt19937 engine(3);  // NOLINT(cert-msc51-cpp): the same faults each time
  std::uniform_int_distribution<int> kind(1, kinds - 1);
  std::uniform_int_distribution<std::int64_t> at(1, 90);
  const auto run = scratch / "w/run";
  for (int chain = 0; chain < (tries_all() ? 300 : 6); ++chain) {
    std::string history;
    Ended ended;
    for (int i = 0; i < 6; ++i) {
      const Fault fault = {static_cast<Kind>(kind(engine)), at(engine)};
      ended = layer.run(arguments("run"), fault);
      history += text_of(fault) + "\n" + ended.err;
      expect_good_message(ended, fault);
      if (is_temporary(fault.kind) && ended.code != cli::done && fs::exists(run / "run.json")) {
        EXPECT_NE(train::read_run_record(run / "run.json").status, RunStatus::running) << history;
      }
    }
    ended = layer.run(arguments("run"));
    EXPECT_EQ(ended.code, cli::done) << history << ended.err;
    EXPECT_THAT(run_differences(scratch / "w/straight", run), IsEmpty()) << history;
    if (HasFailure()) break;
    fs::remove_all(run);
  }
}

// No file is opened for writing outside the run's directory or as a stdio stream; every file is synced before it is
// renamed, and its directory afterwards.
TEST_F(TrainFaults, TheRunSyncsWhatItPublishesAndWritesNowhereElse) {
  layer.trace(true);
  ASSERT_EQ(layer.run(arguments("straight")).code, cli::done);
  const auto lines = layer.traced();
  std::set<std::string> unsynced;
  std::string from;
  std::string unsynced_directory;  // must be synced before the next rename
  int renames = 0;
  for (const auto& line : lines) {
    const auto space = line.find(' ');
    const auto operation = line.substr(0, space);
    const fs::path path = line.substr(space + 1);
    EXPECT_NE(operation, "outside") << line;
    EXPECT_NE(operation, "stream") << line;
    if (operation == "write") unsynced.insert(path);
    if (operation == "sync") unsynced.erase(path);
    if (operation == "sync" && path == unsynced_directory) unsynced_directory.clear();
    if (operation == "rename-from") from = path;
    if (operation != "rename" || path.string().find(".tmp-") != std::string::npos) continue;
    ++renames;
    EXPECT_EQ(unsynced_directory, "") << "not synced before " << line;
    for (const auto& name : unsynced) EXPECT_FALSE(name.starts_with(from)) << name << " was not synced before " << line;
    unsynced_directory = path.parent_path();
  }
  EXPECT_EQ(unsynced_directory, "");
  EXPECT_GT(renames, 8);
}

TEST_F(TrainFaults, OfTheRealProgram) {
#ifdef LEHI_SANITIZED
  GTEST_SKIP() << "a sanitizer must come before any library of LD_PRELOAD; the forks of the other tests are checked";
#endif
  ASSERT_EQ(layer.run(arguments("straight")).code, cli::done);
  const auto run = scratch / "w/run";
  for (const Fault fault : {Fault{Kind::kill_inside, 40}, Fault{Kind::eio, 45}, Fault{Kind::full, 60}}) {
    const auto ended = layer.run_real(arguments("run"), fault);
    ASSERT_TRUE(ended.struck) << text_of(fault) << ended.err;
    expect_good_message(ended, fault);
    expect_readable(ended, fault, run);
  }
  EXPECT_EQ(layer.run_real(arguments("run")).code, cli::done);
  EXPECT_THAT(run_differences(scratch / "w/straight", run), IsEmpty());
}

TEST_F(TrainFaults, AfterAFullDiskTheRunResumesToTheSameBits) {
  ASSERT_EQ(layer.run(arguments("straight")).code, cli::done);
  for (int i = 0; i < 3; ++i) {
    const auto ended = layer.run(arguments("run"), {Kind::full, 60});
    EXPECT_EQ(ended.code, cli::bad_input);
    ASSERT_EQ(ended.complaints().size(), 1U) << ended.err;
    EXPECT_THAT(ended.complaints().front(), ::testing::HasSubstr("no space is left"));
  }
  EXPECT_EQ(layer.run(arguments("run")).code, cli::done);
  EXPECT_THAT(run_differences(scratch / "w/straight", scratch / "w/run"), IsEmpty());
}

TEST_F(TrainFaults, TwoProcessesDoNotResumeTheSameRun) {
  ASSERT_EQ(layer.run(arguments("straight")).code, cli::done);
  ASSERT_EQ(layer.run(arguments("run"), {Kind::kill, 100}).code, -9);
  const auto before = testing::slurp(scratch / "w/run/run.json");
  {
    const DirectoryLock other(scratch / "w/run");
    const auto ended = layer.run(arguments("run"));
    EXPECT_EQ(ended.code, cli::bad_input);
    EXPECT_THAT(ended.err, ::testing::HasSubstr("is in use by another lehi process"));
  }
  EXPECT_EQ(testing::slurp(scratch / "w/run/run.json"), before);
  EXPECT_EQ(layer.run(arguments("run")).code, cli::done);
  EXPECT_THAT(run_differences(scratch / "w/straight", scratch / "w/run"), IsEmpty());
}

// The system kills a process that exceeds the file size limit, unless the process ignores SIGXFSZ.
TEST_F(TrainFaults, TheFileSizeLimitIsAnErrorMessage) {
  const auto out = scratch / "w/run";
  const auto result =
      cli::run_process(fmt::format("ulimit -f 0; \"$LEHI\" train 'csv:{}' --target y --steps 2 --out '{}' 2>&1",
                                   (scratch / "t.csv").string(), out.string()));
  EXPECT_EQ(result.code, cli::bad_input) << result.out;
  EXPECT_THAT(result.out, ::testing::HasSubstr("larger than the system allows"));
  EXPECT_FALSE(fs::exists(out));
}

}  // namespace
}  // namespace lehi::faults
