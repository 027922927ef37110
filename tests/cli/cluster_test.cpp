// Studies on a real Slurm and under a real mpirun give the same bits as on this machine alone.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cli/child.h"
#include "cli/daemons.h"
#include "cli/run.h"
#include "cli/sweep.h"
#include "cli/sweep_study.h"
#include "study/process.h"
#include "support/support.h"

namespace lehi::cli {
namespace {

using ::testing::HasSubstr;

class ClusterStudy : public SweepStudy {
 protected:
  /// A shorter study of two phases: two rates of one optimizer, then the better one with another seed.
  Arguments short_study(const std::string& out, const Arguments& more = {}) const {
    auto all = arguments(out);
    for (auto& argument : all) {
      if (argument == "5000") argument = "600";
      if (argument == "lehi,momentum-control") argument = "lehi";
      if (argument == "train.evaluate_every=500") argument = "train.evaluate_every=100";
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  static study::CommandOutput run_lehi(Arguments arguments, const Arguments& before = {}) {
    arguments.insert(arguments.begin(), LEHI_PROGRAM);
    arguments.insert(arguments.begin(), before.begin(), before.end());
    return study::run_command(arguments);
  }

  /// Waits until a study has locked its directory; from then on it handles signals.
  void wait_for_the_lock(const std::string& out) const {
    const int directory = ::open((scratch / out).c_str(), O_RDONLY | O_CLOEXEC);
    while (::flock(directory, LOCK_EX | LOCK_NB) == 0) {
      ::flock(directory, LOCK_UN);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ::close(directory);
  }

  void expect_same(const std::string& one, const std::string& other) const {
    const auto runs = study_of(one);
    EXPECT_EQ(runs, study_of(other));
    EXPECT_EQ(runs.size(), 2U + 1U);
    for (const auto& entry : runs) {
      const auto directory = entry["directory"].get<std::string>();
      EXPECT_EQ(entry["status"], "done") << directory;
      EXPECT_EQ(metrics_of(one, directory), metrics_of(other, directory)) << directory;
    }
  }
};

TEST_F(ClusterStudy, SlurmGivesTheBitsOfThisMachine) {
  const testing::SlurmDaemons slurm;
  if (!slurm.problem().empty()) GTEST_SKIP() << "no Slurm here: " << slurm.problem();
  ASSERT_EQ(run_lehi(short_study("here")).code, done);
  const std::string there = "a 'b' \"c\" $(touch x) %j \\ ;\nd";
  const auto result = run_lehi(short_study(there, {"--launcher", "slurm", "--slurm-option=--ntasks=2"}));
  ASSERT_EQ(result.code, done) << result.err;
  EXPECT_THAT(result.out, HasSubstr("score of test_loss"));
  expect_same("here", there);
}

TEST_F(ClusterStudy, SrunStartsTheRanksOfARun) {
  const testing::SlurmDaemons slurm;
  if (!slurm.problem().empty()) GTEST_SKIP() << "no Slurm here: " << slurm.problem();
  const auto train = [&](const std::string& out, const Arguments& more) {
    Arguments all = {"train",     "csv:" + (scratch / "t.csv").string(),
                     "--target",  "y",
                     "--steps",   "100",
                     "--threads", "1",
                     "--out",     (scratch / out).string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  ASSERT_EQ(run_lehi(train("here", {"--nproc", "2"})).code, done);
  // The ranks' store would listen on every network device, so the ranks run in a network namespace with loopback only.
  // Slurm's daemons would not work there.
  const auto network = fmt::format("lehi{}", ::getpid());
  const bool is_made = study::run_command({"ip", "netns", "add", network}).code == 0 &&
                       study::run_command({"ip", "-n", network, "link", "set", "lo", "up"}).code == 0;
  if (!is_made) GTEST_SKIP() << "network namespaces are not available, and the ranks would listen on every device";
  const auto result = run_lehi(train("there", {}), {"srun", "--ntasks=2", "ip", "netns", "exec", network});
  study::run_command({"ip", "netns", "del", network});
  ASSERT_EQ(result.code, done) << result.err;
  EXPECT_EQ(train::read_run_record(scratch / "there/run.json").result["ranks"], 2);
  const auto weights = [&](const std::string& out) {
    return train::newest_valid(scratch / out / "checkpoints").found.value().checkpoint.model;
  };
  const auto here = weights("here");
  const auto there = weights("there");
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(testing::same_bits(here[i].second, there[i].second));
}

// A study that is killed while its job array runs continues with that array when resumed. A signal makes its runs save
// a checkpoint.
TEST_F(ClusterStudy, SlurmsArraySurvivesTheStudy) {
  const testing::SlurmDaemons slurm;
  if (!slurm.problem().empty()) GTEST_SKIP() << "no Slurm here: " << slurm.problem();
  auto endless = arguments("study");
  for (auto& argument : endless) {
    if (argument == "5000") argument = "50000000";
  }
  endless.insert(endless.end(), {"--launcher", "slurm"});
  const auto wait_for_steps = [&](std::int64_t steps) {
    for (const auto wanted = saved_steps("study") + steps; saved_steps("study") < wanted;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  const auto jobs = [] { return study::run_command({"squeue", "--noheader", "--states=all", "--format=%F"}).out; };
  const Child first(endless);
  wait_for_steps(500);
  first.send(SIGKILL);
  EXPECT_EQ(first.wait(), -SIGKILL);
  const auto before = jobs();
  wait_for_steps(500);  // the array continues without the study

  const auto elsewhere = run_lehi({"sweep", "--resume", "--out", (scratch / "study").string()});
  EXPECT_EQ(elsewhere.code, bad_input);
  EXPECT_THAT(elsewhere.err, HasSubstr("still has 4 runs of the study"));

  const Child second(endless);
  wait_for_the_lock("study");
  wait_for_steps(500);
  second.send(SIGINT);
  EXPECT_EQ(second.wait(), 128 + SIGINT);
  const auto after = jobs();
  EXPECT_EQ(before.substr(0, before.find('\n')), after.substr(0, after.find('\n'))) << "no second job";
  const auto study = nlohmann::json::parse(testing::slurp(scratch / "study/study.json"));
  std::map<std::string, int> ends;
  for (const auto& entry : study["runs"]) ++ends[entry["status"].get<std::string>()];
  EXPECT_EQ(ends, (std::map<std::string, int>{{"interrupted", 2}, {"waiting", 2}}));
}

// mpirun and c10d's store listen on every interface, so these tests run in a network namespace with loopback only.
class MpiStudy : public ClusterStudy {
 protected:
  void SetUp() override {
    if (study::find_command("mpirun").empty()) GTEST_SKIP() << "no mpirun here (Debian: openmpi-bin)";
    for (const Arguments& unshare : {Arguments{"unshare", "--net"}, {"unshare", "--map-root-user", "--net"}}) {
      network_ = unshare;
      network_.insert(network_.end(), {"sh", "-c", "ip link set lo up && exec \"$@\"", "sh"});
      auto trial = network_;
      trial.emplace_back("true");
      if (study::run_command(trial).code == 0) return;
    }
    GTEST_SKIP() << "network namespaces are not available, and mpirun would listen on every interface";
  }

  Arguments mpirun(int ranks) const {
    auto command = network_;
    command.insert(command.end(), {"mpirun", "-n", std::to_string(ranks), "--oversubscribe", "--allow-run-as-root"});
    return command;
  }

 private:
  Arguments network_;
};

TEST_F(MpiStudy, TheRanksGiveTheBitsOfThisMachine) {
  const auto result = run_lehi(short_study("ranks", {"--launcher", "mpi"}), mpirun(3));
  ASSERT_EQ(result.code, done) << result.err;
  EXPECT_EQ(result.out.find("score of test_loss"), result.out.rfind("score of test_loss")) << "one table";
  ASSERT_EQ(run_lehi(short_study("here")).code, done);
  expect_same("here", "ranks");
}

TEST_F(MpiStudy, AStudyWithAKilledRankCanBeResumed) {
  auto killing = short_study("killed", {"--launcher", "mpi"});
  // The second rank's shell kills itself and its children while they work.
  auto before = mpirun(3);
  const std::string suicide =
      "if test \"$OMPI_COMM_WORLD_RANK\" = 1; then \"$@\" & sleep 1.5; kill -KILL $! $$; fi; exec \"$@\"";
  before.insert(before.end(), {"sh", "-c", suicide, "sh"});
  EXPECT_NE(run_lehi(killing, before).code, done);
  const auto result = run_lehi(killing, mpirun(2));
  ASSERT_EQ(result.code, done) << result.err;
  ASSERT_EQ(run_lehi(short_study("here")).code, done);
  expect_same("here", "killed");
}

TEST_F(MpiStudy, AnErrorEndsAllRanks) {
  testing::spill(scratch / "full", "no directory");
  const auto result = run_lehi(short_study("full", {"--launcher", "mpi"}), mpirun(2));
  EXPECT_EQ(result.code, bad_input);
  EXPECT_THAT(result.err, HasSubstr("is not a directory"));
  const auto every = run_lehi(short_study("x"), mpirun(2));
  EXPECT_EQ(every.code, usage_error);
  EXPECT_THAT(every.err, HasSubstr("add --launcher mpi"));
}

TEST(SweepLauncher, IsChosenByAFlag) {
  using study::LauncherKind;
  const auto local = parse_sweep({"protein"});
  EXPECT_EQ(local.launcher, LauncherKind::local);
  EXPECT_GE(local.jobs, 1);
  const auto slurm = parse_sweep({"protein", "--launcher", "slurm", "--slurm-option=--partition=gpu",
                                  "--slurm-option=--time=1:00", "--jobs", "3"});
  EXPECT_EQ(slurm.launcher, LauncherKind::slurm);
  EXPECT_EQ(slurm.jobs, 3);
  EXPECT_THAT(slurm.slurm_options, ::testing::ElementsAre("--partition=gpu", "--time=1:00"));
  EXPECT_EQ(parse_sweep({"protein", "--launcher", "slurm"}).jobs, 0) << "no limit";
  EXPECT_EQ(parse_sweep({"protein", "--launcher", "mpi"}).jobs, 1);
  for (const Arguments& wrong :
       {Arguments{"protein", "--launcher", "ssh"}, Arguments{"protein", "--slurm-option=--time=1"},
        Arguments{"protein", "--launcher", "mpi", "--slurm-option=--time=1"}}) {
    EXPECT_NE(testing::message_of([&] { parse_sweep(wrong); }), "");
  }
  const auto alone = run({"sweep", "protein", "--launcher", "mpi"});
  EXPECT_EQ(alone.code, usage_error);
  EXPECT_THAT(alone.err, HasSubstr("mpirun -n 4 lehi sweep"));
}

}  // namespace
}  // namespace lehi::cli
