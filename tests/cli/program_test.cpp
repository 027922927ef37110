// The whole program: help, exit codes and the process.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "cli/run.h"
#include "lehi/runtime.h"
#include "lehi/version.h"

namespace lehi::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Program, WithoutArgumentsOrWithHelpListsTheCommands) {
  for (const auto& arguments : {Arguments{}, Arguments{"--help"}, Arguments{"-h"}}) {
    const auto result = run(arguments);
    EXPECT_EQ(result.code, done);
    EXPECT_EQ(result.err, "");
    for (const auto& command : commands()) EXPECT_THAT(result.out, HasSubstr(std::string(command.name)));
  }
}

TEST(Program, PrintsItsVersion) { EXPECT_EQ(run({"--version"}).out, "lehi " LEHI_VERSION "\n"); }

TEST(Program, EveryCommandHasHelpWithExamples) {
  for (const auto& command : commands()) {
    const auto result = run({std::string(command.name), "--help"});
    EXPECT_EQ(result.code, done) << command.name;
    EXPECT_EQ(result.err, "") << command.name;
    EXPECT_THAT(result.out, HasSubstr("Examples:\n  lehi " + std::string(command.name))) << command.name;
  }
}

// An exception in a thread, which no caller can catch, is one line and an exit code too.
TEST(ProgramDeathTest, FailureInAThreadIsOneSentence) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // the test process has threads
  const auto fail_in_a_thread = [] {
    install_terminate_handler();
    std::thread([] { throw std::runtime_error("the disk\nis gone"); }).join();
  };
  EXPECT_EXIT(fail_in_a_thread(), ::testing::ExitedWithCode(internal_error), "^lehi: the disk is gone\n$");
}

TEST(Program, SuggestsTheNearestCommand) {
  const auto near = run({"trase"});
  EXPECT_EQ(near.code, usage_error);
  EXPECT_EQ(near.out, "");
  EXPECT_EQ(near.err, "lehi: there is no command 'trase' (did you mean 'trace'?); `lehi --help` lists them\n");
  EXPECT_EQ(run({"sing"}).err, "lehi: there is no command 'sing'; `lehi --help` lists them\n");
}

TEST(Program, ReportsEveryBadCommandLineInOneLineWithCodeTwo) {
  const Arguments bad[] = {
      {"list"},
      {"list", "colours"},
      {"list", "losses", "--jsn"},
      {"doctor", "now"},
      {"bound", "--lr", "fast"},
      {"bound", "--lr", "-1"},
      {"bound", "--steps", "1.5"},
      {"bound", "--beta1", "nan"},
      {"loss", "mse"},
      {"loss", "mae", "--predictions", "1", "--target", "1"},
      {"loss", "mse", "--predictions", "1,x", "--target", "1,2"},
      {"loss", "mse", "--predictions", "1,2", "--target", "1"},
      {"loss", "mse", "--predictions", "inf", "--target", "1"},
      {"loss", "mse", "--predictions", "1", "--target", "1", "--probe", "hessian"},
      {"loss", "mse", "--predictions", "1", "--target", "1", "--dtype", "float16"},
      {"loss", "mse", "--predictions", "1", "--target", "1", "--delta", "2"},
      {"loss", "huber", "--predictions", "1", "--target", "1", "--delta", "-2"},
      {"loss", "huber", "--predictions", "1", "--target", "1", "--probe", "sampled-label"},
      {"loss", "bce", "--predictions", "1", "--target", "2"},
      {"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "3"},
      {"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "0.5"},
      {"loss", "cross-entropy", "--predictions", "1,2,3", "--target", "0.5,0.6,0.7"},
      {"trace"},
      {"trace", "everest"},
      {"trace", "beale", "--optimizer", "magic"},
      {"trace", "beale", "--lr", "-1"},
      {"trace", "beale", "--beta1", "1"},
      {"trace", "beale", "--steps", "-1"},
      {"trace", "beale", "--start", "1,2,3"},
      {"trace", "beale", "--refresh-every", "0"},
  };
  for (const auto& arguments : bad) {
    const auto result = run(arguments);
    const auto line = fmt::format("{}", fmt::join(arguments, " "));
    EXPECT_EQ(result.code, usage_error) << line;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_THAT(result.err, AllOf(StartsWith("lehi: "), EndsWith("\n"))) << line;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << line << ": " << result.err;
  }
}

TEST(Process, ReturnsTheExitCodes) {
  EXPECT_EQ(run_process("\"$LEHI\" --version").code, done);
  EXPECT_EQ(run_process("\"$LEHI\" nonsense 2>/dev/null").code, usage_error);
  EXPECT_EQ(run_process("\"$LEHI\" trace rosenbrock --optimizer sgd --lr 1 --steps 100 2>/dev/null").code, diverged);
}

TEST(Process, PrintsMessagesOnStandardErrorOnly) {
  const auto result = run_process("\"$LEHI\" trace rosenbrock --optimizer sgd --lr 1 --steps 100 --json 2>/dev/null");
  EXPECT_EQ(result.json()["status"], "diverged");
  EXPECT_THAT(run_process("\"$LEHI\" nonsense 2>&1 >/dev/null").out, HasSubstr("no command 'nonsense'"));
}

TEST(Process, FailsWhenTheResultCanNotBeWritten) {
  EXPECT_EQ(run_process("\"$LEHI\" list probes 2>/dev/null >/dev/full").code, internal_error);
}

TEST(Process, UsesAllCoresUnlessOmpNumThreadsIsSet) {
  const auto usual = run_process("unset OMP_NUM_THREADS; \"$LEHI\" doctor --json").json();
  EXPECT_EQ(usual["torch_threads"], usual["cores"]);
  const auto single = run_process("OMP_NUM_THREADS=1 \"$LEHI\" doctor --json").json();
  EXPECT_EQ(single["torch_threads"], 1);
  const bool too_few = single["cores"] > 1;
  EXPECT_EQ(single["warnings"].dump().find("unset OMP_NUM_THREADS") != std::string::npos, too_few);
}

TEST(Process, WarnsAboutAnUnsuitableForcedKernel) {
  const auto host = runtime::describe_host();
  if (host.blas != "openblas" || host.vector_units == "baseline") GTEST_SKIP() << "needs OpenBLAS on an AVX2 machine";
  const std::string forced = "OPENBLAS_CORETYPE=PRESCOTT \"$LEHI\" ";
  const auto doctor = run_process(forced + "doctor --json 2>/dev/null").json();
  EXPECT_EQ(doctor["blas_kernel"], "Prescott");
  EXPECT_THAT(doctor["warnings"].dump(), HasSubstr("OPENBLAS_CORETYPE=PRESCOTT"));
  EXPECT_THAT(run_process(forced + "list probes 2>&1 >/dev/null").out,
              StartsWith("lehi: warning: OPENBLAS_CORETYPE=PRESCOTT"));
}

}  // namespace
}  // namespace lehi::cli
