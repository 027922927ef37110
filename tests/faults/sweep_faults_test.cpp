// A sweep with a disk fault or a killed process at any file operation: the study stays readable, no finished run is
// lost or repeated, and after resumption it equals an undisturbed one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "faults/differences.h"
#include "faults/fault_points.h"
#include "faults/harness.h"
#include "train/scratch.h"

namespace lehi::faults {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

class SweepFaults : public ::testing::TestWithParam<int> {
 protected:
  SweepFaults() : layer(scratch.path(), scratch / "w") {
    std::string text = "a,b,y\n";
    for (int i = 0; i < 40; ++i) text += fmt::format("{},{},{}\n", i % 17, i % 5, 2 * (i % 17) - i % 5);
    testing::spill(scratch / "t.csv", text);
    fs::create_directory(scratch / "w");
  }

  cli::Arguments arguments(const std::string& name) const {
    return {"sweep",        "csv:" + (scratch / "t.csv").string(),
            "--target",     "y",
            "--steps",      "3",
            "--batch-size", "8",
            "--optimizers", "lehi,adam",
            "--lrs",        "1e-3,1e-2",
            "--jobs",       std::to_string(GetParam()),
            "--set",        "train.evaluate_every=2",
            "--set",        "checkpoint.every=2",
            "--set",        "checkpoint.keep=1",
            "--set",        "model.hidden=[2]",
            "--resume",     "--retry-failed",
            "--out",        (scratch / "w" / name).string()};
  }

  void expect_report(const std::string& name, const std::string& history) {
    const auto report = layer.run({"report", (scratch / "w" / name).string(), "--csv", (scratch / "r.csv").string()});
    if (report.code == cli::done) return;
    EXPECT_EQ(report.code, cli::bad_input) << history << report.err;
    EXPECT_EQ(std::count(report.err.begin(), report.err.end(), '\n'), 1) << history << report.err;
  }

  testing::Scratch scratch;
  Layer layer;
};

TEST_P(SweepFaults, AtAnyOperationAStudyResumesToTheSameBits) {
  const auto straight = layer.run(arguments("straight"));
  ASSERT_EQ(straight.code, cli::done) << straight.err;
  ASSERT_GT(straight.operations, 200) << "the layer does not apply to the runs' processes";
  const auto study = scratch / "w/study";
  const auto faults = fault_points(straight.operations, 7);
  for (const auto& fault : faults) {
    const auto ended = layer.run(arguments("study"), fault);
    // If two parallel runs end together, the study writes its files once: there are fewer operations than expected.
    const bool too_late = !ended.struck && GetParam() > 1 && fault.at > straight.operations - 20;
    ASSERT_TRUE(ended.struck || too_late) << text_of(fault);
    const auto history = text_of(fault) + ":\n" + ended.err;
    // From the study's process or from one of a run, whose messages the study prints.
    for (const char* trace : {"Exception raised", "terminate called", "frame #"}) {
      EXPECT_EQ(ended.err.find(trace), std::string::npos) << history;
    }
    if (!kills_process(fault.kind)) {
      EXPECT_THAT(ended.code, ::testing::AnyOf(cli::done, cli::bad_input)) << history;
    }
    expect_report("study", history);
    const auto finished = finished_runs(study);
    const auto resumed = layer.run(arguments("study"));
    EXPECT_EQ(resumed.code, cli::done) << history << "resumed:\n" << resumed.err;
    EXPECT_THAT(study_differences(scratch / "w/straight", study), IsEmpty()) << history;
    for (const auto& [name, record] : finished) {
      EXPECT_EQ(testing::slurp(study / name / "run.json"), record) << name << " had ended and was changed";
    }
    if (HasFailure()) break;
    fs::remove_all(study);
  }
  fmt::print("sweep, {} at once: {} operations, {} faults\n", GetParam(), straight.operations, faults.size());
}

TEST_P(SweepFaults, SeveralInARowAStudyResumesToTheSameBits) {
  ASSERT_EQ(layer.run(arguments("straight")).code, cli::done);
  std::mt19937 engine(5);  // NOLINT(cert-msc51-cpp): the same faults each time
  std::uniform_int_distribution<int> kind(1, kinds - 1);
  std::uniform_int_distribution<std::int64_t> at(1, 250);
  for (int chain = 0; chain < (tries_all() ? 40 : 1); ++chain) {
    std::string history;
    for (int i = 0; i < 4; ++i) {
      const Fault fault = {static_cast<Kind>(kind(engine)), at(engine)};
      history += text_of(fault) + "\n" + layer.run(arguments("study"), fault).err;
    }
    const auto ended = layer.run(arguments("study"));
    EXPECT_EQ(ended.code, cli::done) << history << ended.err;
    EXPECT_THAT(study_differences(scratch / "w/straight", scratch / "w/study"), IsEmpty()) << history;
    if (HasFailure()) break;
    fs::remove_all(scratch / "w/study");
  }
}

INSTANTIATE_TEST_SUITE_P(Jobs, SweepFaults, ::testing::Values(1, 2));

}  // namespace
}  // namespace lehi::faults
