// Studies through Slurm. Its commands are scripts here (fake_slurm.h), the runs are stand-ins (stand_in.h).
// tests/cli/cluster_test.cpp uses a real Slurm.
#include "study/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "study/fake_slurm.h"
#include "study/slurm_files.h"
#include "study/stand_in.h"
#include "support/support.h"

namespace lehi::study {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::Not;
using testing::slurp;
using testing::spill;

class SlurmTest : public testing::StandInTest {
 protected:
  void SetUp() override {
    StandInTest::SetUp();
    request_.launcher = LauncherKind::slurm;
  }

  std::size_t submissions() const {
    const auto text = slurm_.read("submitted");
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  static std::vector<std::string> ends_of(const Study& study) {
    std::vector<std::string> ends;
    for (const auto& entry : study.runs) ends.emplace_back(status_text(entry));
    return ends;
  }

  /// Creates a study that was killed while all of its runs were tasks of job 7.
  void leave_job(const std::vector<PlannedRun>& plan, bool with_job_file = true) {
    const auto study = new_study("compare", {"lehi"}, plan);
    make_directories(request_.directory);
    write_study(request_.directory, study);
    auto array = write_array(request_.directory, directories(study));
    array.job = "7";
    if (with_job_file) write_job(request_.directory, array);
    spill(slurm_ / "names", array.name + " 7\n");
    for (std::size_t i = 0; i < plan.size(); ++i) spill(slurm_ / ("task-7_" + std::to_string(i)), "RUNNING None 0 0\n");
    request_.resume = true;
  }

  /// Makes the second call of squeue end job 7, with a finished run for each task.
  void end_job_at_next_query(const std::vector<PlannedRun>& plan) {
    std::string script = "here=$1\nrm \"$here/next\"\n";
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const auto run = (request_.directory / plan[i].directory).string();
      script += "cp '" + (tools_ / "metrics.jsonl").string() + "' '" + run + "/metrics.jsonl'\n";
      script += "cp '" + (tools_ / "done.json").string() + "' '" + run + "/run.json'\n";
      script += "echo 'COMPLETED None 0 0' > \"$here/task-7_" + std::to_string(i) + "\"\n";
    }
    spill(slurm_ / "next.waiting", script);
    // The first call only finds that the job still runs.
    spill(slurm_ / "next", "mv \"$1/next.waiting\" \"$1/next\"\n");
  }

  testing::FakeSlurm slurm_;
};

TEST_F(SlurmTest, RunsAnArrayAndRecordsHowItEnded) {
  request_.data_dir = "some 'data'";
  request_.slurm_options = {"--partition=a b", "-t5"};
  const auto outcome = run(plan_of({"lehi", "sgd", "adamw", "adam"}));
  EXPECT_EQ(outcome.signal, 0);
  EXPECT_EQ(outcome.failed_code, 3);
  EXPECT_THAT(ends_of(outcome.study), ElementsAre("done", "diverged", "failed", "done"));
  EXPECT_EQ(outcome.study.runs[2].message, "ended with exit code 3: the disk is on fire") << "as on this machine";
  EXPECT_EQ(to_json(read_study(request_.directory)), to_json(outcome.study));
  EXPECT_THAT(slurp(tools_ / "started"), HasSubstr("--progress none --data-dir some 'data' --out"));
  EXPECT_THAT(slurp(tools_ / "environment"), AllOf(Not(HasSubstr("SLURM_PROCID")), Not(HasSubstr("SLURM_STEP_NUM"))));
  EXPECT_THAT(slurm_.read("submitted"),
              AllOf(HasSubstr("<--partition=a b><-t5><--parsable>"), HasSubstr("<--array=0-3%2>")));
  EXPECT_THAT(err_.str(),
              AllOf(HasSubstr("4 runs submitted as Slurm's job 101"), HasSubstr("lehi lr 0.1 seed 0: done")));
  EXPECT_TRUE(read_arrays(request_.directory).empty()) << "the array has ended";
  EXPECT_THAT(slurp(request_.directory / "slurm/101_2.log"), HasSubstr("the disk is on fire"));
}

TEST_F(SlurmTest, NoShellReadsAPath) {
  request_.directory = scratch_ / "-a 'b' \"c\" $(touch x)\n%j \\ ;d";
  request_.jobs = 0;
  EXPECT_TRUE(run(plan_of({"lehi"})).study.runs[0].done());
  EXPECT_THAT(slurm_.read("submitted"), HasSubstr("<--array=0-0>"));
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(scratch_.path());
  request_.directory = "-relative";
  EXPECT_TRUE(run(plan_of({"lehi"})).study.runs[0].done());
  std::filesystem::current_path(here);
}

TEST_F(SlurmTest, RunsTheSecondPhaseAsAnArrayOfItsOwn) {
  const auto plan = phased_plan({"lehi", "adam"});
  const auto outcome = run(plan.runs);
  EXPECT_EQ(submissions(), 2U);
  EXPECT_EQ(outcome.study.runs.size(), 10U);
  for (const auto& entry : outcome.study.runs) EXPECT_TRUE(entry.done()) << entry.directory;
}

TEST_F(SlurmTest, TasksEndedBySlurmHaveFailedAndAreRetriedOnRequest) {
  const auto plan = plan_of({"lehi", "adam", "sgd", "radam"});
  spill(slurm_ / "end-0", "TIMEOUT TimeLimit 0 15\n");
  spill(slurm_ / "end-1", "OUT_OF_MEMORY OutOfMemory 0 125\n");
  spill(slurm_ / "end-2", "NODE_FAIL None 0 0\n");
  spill(slurm_ / "end-3", "FAILED None 66 0\n");
  make_directories(request_.directory);
  const auto outcome = run(plan);
  EXPECT_THAT(ends_of(outcome.study), ElementsAre("failed", "failed", "failed", "failed"));
  EXPECT_EQ(outcome.study.runs[0].message, "Slurm ended its task 101_0: TIMEOUT (TimeLimit)");
  EXPECT_EQ(outcome.study.runs[1].message, "Slurm ended its task 101_1: OUT_OF_MEMORY (OutOfMemory)");
  EXPECT_EQ(outcome.study.runs[2].message, "Slurm ended its task 101_2: NODE_FAIL");
  EXPECT_THAT(outcome.study.runs[3].message, HasSubstr("file system that all nodes share"));
  request_.resume = true;
  run(plan);
  EXPECT_EQ(submissions(), 1U);
  request_.retry_failed = true;
  for (int i = 0; i < 4; ++i) std::filesystem::remove(slurm_ / ("end-" + std::to_string(i)));
  EXPECT_THAT(ends_of(run(plan).study), ElementsAre("done", "done", "diverged", "done"));
  EXPECT_EQ(submissions(), 2U);
}

TEST_F(SlurmTest, ARunThatSavedBeforeItsTimeLimitHasFailedToo) {
  const auto plan = plan_of({"lehi"});
  leave_job(plan);
  make_directories(request_.directory / plan[0].directory);
  std::filesystem::copy_file(tools_ / "interrupted.json", request_.directory / plan[0].directory / "run.json");
  spill(slurm_ / "next",
        "test -f \"$1/asked\" && echo 'TIMEOUT TimeLimit 0 15' > \"$1/task-7_0\"; touch \"$1/asked\"\n");
  const auto outcome = run(plan);
  EXPECT_THAT(ends_of(outcome.study), ElementsAre("failed"));
  EXPECT_THAT(outcome.study.runs[0].message, HasSubstr("TIMEOUT"));
}

TEST_F(SlurmTest, AJobThatSlurmNoLongerKnowsHasEnded) {
  const auto plan = plan_of({"lehi"});
  leave_job(plan);
  spill(slurm_ / "next", "test -f \"$1/asked\" && rm \"$1/task-7_0\"; touch \"$1/asked\"\n");
  const auto outcome = run(plan);
  EXPECT_THAT(outcome.study.runs[0].message, HasSubstr("no longer knows its task 7_0"));
  EXPECT_EQ(submissions(), 0U);
}

TEST_F(SlurmTest, ARejectedSubmissionIsOneSentenceAndLeavesNoFiles) {
  const auto plan = plan_of({"lehi", "adam"});
  spill(slurm_ / "rejection", "sbatch: error: Some hint\nsbatch: error: invalid partition specified: gpu\n");
  EXPECT_THAT(message_of([&] { run(plan); }),
              AllOf(HasSubstr("sbatch did not accept the study's 2 runs"),
                    HasSubstr("invalid partition specified: gpu"), Not(HasSubstr("\n"))));
  EXPECT_THAT(scratch_.names(), IsEmpty());
  std::filesystem::remove(slurm_ / "rejection");
  spill(slurm_ / "nonsense", "sbatch: Job would have started\n");
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("Job would have started"));
  EXPECT_THAT(scratch_.names(), IsEmpty());
  const testing::Environment nowhere("PATH", tools_.path().string());
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("needs the command sbatch"));
  EXPECT_THAT(scratch_.names(), IsEmpty());
}

TEST_F(SlurmTest, ARejectedSecondPhaseKeepsTheFirst) {
  const auto plan = phased_plan({"lehi"});
  spill(slurm_ / "next", "echo 'sbatch: error: full' > \"$1/rejection\"\n");
  EXPECT_THAT(message_of([&] { run(plan.runs); }), HasSubstr("full"));
  std::filesystem::remove(slurm_ / "next");
  std::filesystem::remove(slurm_ / "rejection");
  request_.resume = true;
  const auto outcome = run(plan.runs);
  EXPECT_EQ(outcome.study.runs.size(), 5U);
  EXPECT_EQ(started(), 5U);
}

TEST_F(SlurmTest, RejectsInvalidOptions) {
  for (const auto* option : {"gpu", "", "-", "--", "--clusters=other", "-Mother"}) {
    request_.slurm_options = {option};
    EXPECT_THAT(message_of([&] { run(plan_of({"lehi"})); }), HasSubstr("--slurm-option")) << option;
  }
  EXPECT_THAT(scratch_.names(), IsEmpty());
}

TEST_F(SlurmTest, ContinuesWithAnArrayThatStillRuns) {
  const auto plan = plan_of({"lehi", "adam"});
  for (const bool with_job_file : {true, false}) {
    std::filesystem::remove_all(request_.directory);
    leave_job(plan, with_job_file);
    end_job_at_next_query(plan);
    const auto outcome = run(plan);
    EXPECT_THAT(ends_of(outcome.study), ElementsAre("done", "done"));
    EXPECT_THAT(err_.str(), HasSubstr("continues with Slurm's job 7, which still has 2 runs"));
  }
  EXPECT_EQ(submissions(), 0U);
}

TEST_F(SlurmTest, SubmitsTheRunsOfAnEndedArrayAgain) {
  const auto plan = plan_of({"lehi", "adam"});
  leave_job(plan);
  for (const auto* name : {"task-7_0", "task-7_1"}) std::filesystem::remove(slurm_ / name);
  EXPECT_THAT(ends_of(run(plan).study), ElementsAre("done", "done"));
  EXPECT_EQ(submissions(), 1U);
}

TEST_F(SlurmTest, AnotherLauncherWaitsForTheArraysToEnd) {
  const auto plan = plan_of({"lehi"});
  leave_job(plan);
  request_.launcher = LauncherKind::local;
  EXPECT_THAT(message_of([&] { run(plan); }), AllOf(HasSubstr("job 7 still has 1 run"), HasSubstr("--launcher slurm")));
  std::filesystem::remove(slurm_ / "task-7_0");
  EXPECT_TRUE(run(plan).study.runs[0].done());
}

TEST_F(SlurmTest, AControllerThatDoesNotAnswerIsAskedAgain) {
  const auto plan = plan_of({"lehi"});
  leave_job(plan);
  spill(slurm_ / "silent", "");
  EXPECT_THAT(message_of([&] { run(plan); }),
              AllOf(HasSubstr("can't determine whether"), HasSubstr("Unable to contact")))
      << "or the run might be submitted twice";
  std::filesystem::remove(slurm_ / "silent");
  end_job_at_next_query(plan);
  spill(slurm_ / "next.after", slurp(slurm_ / "next.waiting"));
  spill(slurm_ / "next.waiting", "mv \"$1/next.after\" \"$1/next\"\n: > \"$1/silent\"\n");
  EXPECT_TRUE(run(plan).study.runs[0].done());
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("Unable to contact"), HasSubstr("Slurm answers again")));
}

TEST_F(SlurmTest, SplitsALargeStudyIntoSeveralArrays) {
  spill(slurm_ / "config", "MaxArraySize            = 2\n");
  const auto outcome = run(plan_of({"lehi", "adam", "radam", "amsgrad", "lehibrid"}));
  for (const auto& entry : outcome.study.runs) EXPECT_TRUE(entry.done()) << entry.directory;
  EXPECT_EQ(submissions(), 3U);
}

TEST_F(SlurmTest, ASignalCancelsWaitingTasksAndStopsRunningOnes) {
  const auto plan = plan_of({"lehi", "adam"});
  leave_job(plan);
  spill(slurm_ / "task-7_1", "PENDING AssocGrpCpuLimit 0 0\n");
  std::thread stopper([&] {
    while (slurp(request_.directory / "study.json").find("\"running\"") == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ::kill(::getpid(), SIGTERM);
  });
  const auto outcome = run(plan);
  stopper.join();
  EXPECT_EQ(outcome.signal, SIGTERM);
  EXPECT_EQ(outcome.failed_code, 0);
  EXPECT_THAT(ends_of(outcome.study), ElementsAre("interrupted", "waiting"));
  EXPECT_EQ(slurm_.read("cancelled"), "--state=PENDING 7\n--batch --signal=TERM 7_0\n");
  EXPECT_THAT(err_.str(), HasSubstr("runs wait in Slurm's queue: AssocGrpCpuLimit"));
  EXPECT_TRUE(read_arrays(request_.directory).empty());
}

TEST_F(SlurmTest, RejectsInvalidFilesOfAnArray) {
  const auto plan = plan_of({"lehi"});
  leave_job(plan);
  const auto array = read_arrays(request_.directory).front();
  spill(request_.directory / "slurm" / (array.name + ".job"), "7; rm -rf\n");
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("expected the number of a Slurm job"));
  spill(request_.directory / "slurm" / (array.name + ".runs"), "../outside\n");
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("not a plain directory name"));
  std::filesystem::remove_all(request_.directory / "slurm");
  std::filesystem::create_directory_symlink(tools_.path(), request_.directory / "slurm");
  EXPECT_THAT(message_of([&] { run(plan); }), HasSubstr("is not a directory"));
  EXPECT_EQ(submissions(), 0U);
}

}  // namespace
}  // namespace lehi::study
