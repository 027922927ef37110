// The protocol with a child process. A shell takes Python's place: in `sh -c SCRIPT MODEL THREADS`, $0 is the model and
// $1 the number of threads.
#include "bench/torch_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "bench/memory.h"
#include "bench/session.h"
#include "support/support.h"

namespace lehi::bench {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using Tuning = TorchPeer::Setup;

constexpr const char* shell = "/bin/sh";

TEST(Coprocess, AnswersLineByLine) {
  Coprocess process(shell, {"-c", "while read -r line; do echo \"got $line\"; done"});
  process.send("one");
  EXPECT_EQ(process.read_line(), "got one");
  process.send("two");
  process.send("three");
  EXPECT_EQ(process.read_line(), "got two");
  EXPECT_EQ(process.read_line(), "got three");
}

TEST(Coprocess, HasAChangedEnvironment) {
  ::setenv("LEHI_BENCH_HIDDEN", "1", 1);
  Coprocess process(shell, {"-c", "echo \"${LEHI_BENCH_HIDDEN-none} $LEHI_BENCH_SHOWN\""},
                    {{"LEHI_BENCH_HIDDEN", std::nullopt}, {"LEHI_BENCH_SHOWN", "here"}});
  EXPECT_EQ(process.read_line(), "none here");
  ::unsetenv("LEHI_BENCH_HIDDEN");
}

TEST(Coprocess, ReturnsTheLastLineOfStandardError) {
  Coprocess process(shell, {"-c", "echo first >&2; echo second >&2; exit 3"});
  EXPECT_EQ(process.read_line(), std::nullopt);
  EXPECT_EQ(process.last_error(), "second");
  process.send("has no effect");
  EXPECT_EQ(process.read_line(), std::nullopt);
}

TEST(Coprocess, ReportsAProgramThatCannotBeStarted) {
  Coprocess process("/no/such/program", {});
  EXPECT_EQ(process.read_line(), std::nullopt);
  EXPECT_EQ(process.last_error(), "cannot start /no/such/program: No such file or directory");
}

TEST(TorchPeer, ReturnsTheSecondsOfOneStep) {
  TorchPeer peer(shell, "echo ready 39760; while read -r n; do echo \"$n.5\"; done", "mnist", Tuning::tuned);
  EXPECT_EQ(peer.parameters(), 39760);
  EXPECT_DOUBLE_EQ(peer.seconds_of_steps(4), 4.5 / 4);
  EXPECT_DOUBLE_EQ(peer.seconds_of_steps(1), 1.5);
}

TEST(TorchPeer, PassesModelThreadsAndKernel) {
  const auto answer = [](Tuning setup) {
    return message_of([&] { TorchPeer(shell, "echo \"$0 $1 ${OMP_NUM_THREADS-own}\" >&2; exit 1", "gpt2", setup); });
  };
  EXPECT_THAT(answer(Tuning::installed), HasSubstr("gpt2 0 own"));
  EXPECT_THAT(answer(Tuning::tuned), ::testing::ContainsRegex("gpt2 ([0-9]+) [0-9]+"));
}

TEST(TorchPeer, ReportsInOneSentenceWhyTorchIsMissing) {
  EXPECT_THAT(message_of([] {
                TorchPeer(shell, "echo \"ModuleNotFoundError: No module named 'torch'\" >&2; exit 1", "gpt2",
                          Tuning::tuned);
              }),
              HasSubstr("could not train with torch: ModuleNotFoundError: No module named 'torch'"));
  EXPECT_THAT(message_of([] { TorchPeer("/no/python3", "", "gpt2", Tuning::tuned); }),
              HasSubstr("cannot start /no/python3"));
  TorchPeer ends(shell, "echo ready 1; read -r n; echo killed >&2", "gpt2", Tuning::tuned);
  EXPECT_THAT(message_of([&] { ends.seconds_of_steps(1); }), HasSubstr("in the middle of its steps: killed"));
  TorchPeer wrong_answer(shell, "echo ready 1; read -r n; echo nonsense", "gpt2", Tuning::tuned);
  EXPECT_THAT(message_of([&] { wrong_answer.seconds_of_steps(1); }), HasSubstr("it answered 'nonsense'"));
}

TEST(TorchTopic, WithoutPythonItsMeasurementsAreSkipped) {
  std::ostringstream err;
  const Settings settings{.topics = {"torch"}, .python = "/no/python3"};
  BenchProgress progress(err, expected_seconds(settings));
  Session session(settings, progress, err);
  run_topics(session);
  EXPECT_TRUE(session.measurements().empty());
  ASSERT_EQ(session.unmeasured().size(), 3U);
  EXPECT_EQ(session.unmeasured()[0].name, "torch/mnist-installed");
  EXPECT_TRUE(session.unmeasured()[0].bounded);
  EXPECT_THAT(session.unmeasured()[0].reason, HasSubstr("/no/python3"));
}

TEST(MemoryTopic, MeasuresEachPeakInItsOwnProcess) {
  std::ostringstream err;
  // echo takes the place of this program; it prints its arguments, which are not a number.
  const Settings settings{.topics = {"memory"}, .program = "/bin/echo"};
  BenchProgress progress(err, expected_seconds(settings));
  Session session(settings, progress, err);
  run_topics(session);
  EXPECT_TRUE(session.measurements().empty());
  EXPECT_EQ(session.unmeasured().size(), 5U);
  EXPECT_THAT(message_of([] { peak_of_steps("lehy"); }), HasSubstr("no variant 'lehy'"));
}

}  // namespace
}  // namespace lehi::bench
