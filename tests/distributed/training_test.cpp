// `lehi train` as several processes: the same run for any number of ranks; lost ranks; launchers.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is POSIX
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <random>
#include <thread>

#include "distributed/launch.h"
#include "files/files.h"
#include "support/network.h"
#include "support/support.h"
#include "train/checkpoint.h"
#include "train/run_record.h"
#include "train/scratch.h"

namespace lehi::distributed {
namespace {

using lehi::testing::relative_difference;
using lehi::testing::same_bits;
using lehi::testing::Scratch;
using lehi::testing::slurp;
using lehi::testing::spill;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

/// A child process; its standard error goes to a file.
class Process {
 public:
  Process(std::vector<std::string> command, const std::vector<std::string>& variables, const fs::path& err)
      : err_(err) {
    std::vector<std::string> environment = variables;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const auto argv = pointers(command);
    const auto envp = pointers(environment);
    if (::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), envp.data()) != 0) {
      throw std::runtime_error("cannot start " + command.front());
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, 0)), err_(std::move(other.err_)) {}
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void send(int signal) const { ::kill(pid_, signal); }

  /// The exit code, minus the signal that ended it, or nothing within `seconds`.
  std::optional<int> wait(double seconds) {
    const auto end = steady_clock::now() + std::chrono::duration<double>(seconds);
    int status = 0;
    while (::waitpid(pid_, &status, WNOHANG) == 0) {
      if (steady_clock::now() > end) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string errors() const { return slurp(err_); }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (auto& text : strings) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }

  pid_t pid_ = 0;
  fs::path err_;
};

bool is_installed(const std::string& command) {
  return std::system(("command -v " + command + " >/dev/null 2>&1").c_str()) == 0;
}

constexpr double patience = 120.0;  // seconds, for a process that should end by itself; the machine may be busy

class RanksOfTraining : public ::testing::Test {
 protected:
  RanksOfTraining() {
    lehi::testing::leave_the_network();
    std::string text = "a,b,y\n";
    for (int i = 0; i < 301; ++i) {
      text += fmt::format("{:.5f},{:.5f},{:.5f}\n", std::sin(i * 1.7), std::cos(i * 0.9),
                          std::sin(i * 1.7) * std::cos(i * 0.9));
    }
    spill(scratch / "t.csv", text);
  }

  fs::path out(const std::string& name) const { return scratch / name; }

  std::vector<std::string> command(const std::string& name, const std::vector<std::string>& more = {},
                                   const std::string& optimizer = "lehi-gn", int steps = 60) const {
    std::vector<std::string> words = {LEHI_PROGRAM,
                                      "train",
                                      "csv:" + (scratch / "t.csv").string(),
                                      "--target",
                                      "y",
                                      "--optimizer",
                                      optimizer,
                                      "--steps",
                                      std::to_string(steps),
                                      "--batch-size",
                                      "64",
                                      "--set",
                                      "train.evaluate_every=20",
                                      "--threads",
                                      "1",
                                      "--out",
                                      out(name).string()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  int run(const std::vector<std::string>& words) {
    Process process(words, {}, scratch / "err");
    const int code = process.wait(patience).value_or(-1000);
    errors = process.errors();
    return code;
  }

  /// Starts ranks as a launcher would; rank 0 serves the store.
  std::vector<Process> start(const std::vector<std::string>& words, int ranks) {
    // Below the range that the system assigns from; in a network of its own no other process uses it.
    port = 20000 + (port + 1) % 12000;
    std::vector<Process> processes;
    for (int rank = 0; rank < ranks; ++rank) {
      processes.emplace_back(words,
                             std::vector<std::string>{fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", ranks),
                                                      fmt::format("MASTER_PORT={}", port), "MASTER_ADDR=127.0.0.1"},
                             scratch / fmt::format("err{}", rank));
    }
    return processes;
  }

  train::RunRecord record(const std::string& name) const { return train::read_run_record(out(name) / "run.json"); }

  torch::Tensor weights(const std::string& name) const {
    const auto newest = train::newest_valid(out(name) / "checkpoints");
    if (!newest.found) return {};
    std::vector<torch::Tensor> flat;
    for (const auto& [key, tensor] : newest.found->checkpoint.model) flat.push_back(tensor.reshape({-1}));
    for (const auto& [key, tensor] : newest.found->checkpoint.optimizer) {
      flat.push_back(tensor.to(torch::kFloat32).reshape({-1}));
    }
    return torch::cat(flat);
  }

  Scratch scratch;
  std::string errors;
  static inline int port = static_cast<int>(::getpid());
};

TEST_F(RanksOfTraining, AreTheSameRunAsOneProcess) {
  ASSERT_EQ(run(command("one")), 0) << errors;
  for (const int ranks : {2, 3}) {
    const auto name = fmt::format("of{}", ranks);
    ASSERT_EQ(run(command(name, {"--nproc", std::to_string(ranks)})), 0) << errors;
    EXPECT_LE(relative_difference(weights(name), weights("one")), 1e-5);
    const auto own = record(name).result;
    const auto alone = record("one").result;
    for (const char* key : {"train_loss", "test_loss", "grad_inf_norm", "eps_dominated"}) {
      EXPECT_NEAR(own[key].get<double>(), alone[key].get<double>(), 1e-4 * std::abs(alone[key].get<double>())) << key;
    }
    EXPECT_EQ(own["ranks"], ranks);
    ASSERT_EQ(run(command(name + "s", {"--shard-optimizer", fmt::format("--nproc={}", ranks)})), 0) << errors;
    EXPECT_TRUE(same_bits(weights(name + "s"), weights(name))) << "sharded state";
  }
}

TEST_F(RanksOfTraining, SumFourBytesAWeightAndAsManyForTheProbe) {
  const std::vector<std::pair<std::string, double>> bytes_a_weight = {{"adamw", 4.0}, {"lehi", 8.0}, {"sophia-g", 4.4}};
  for (const auto& [optimizer, bytes] : bytes_a_weight) {
    ASSERT_EQ(run(command(optimizer, {"--nproc", "2", "--set", "model.hidden=[64,64]"}, optimizer)), 0) << errors;
    const auto result = record(optimizer);
    const double a_step = result.result["summed_bytes"].get<double>() / 60.0 / static_cast<double>(result.parameters);
    EXPECT_GE(a_step, bytes) << optimizer;
    EXPECT_LE(a_step, 1.02 * bytes) << optimizer;
  }
  ASSERT_EQ(run(command("half", {"--nproc", "2", "--set", "model.hidden=[64,64]", "--compress", "bfloat16"}, "adamw")),
            0);
  const auto result = record("half");
  EXPECT_LE(result.result["summed_bytes"].get<double>() / 60.0 / static_cast<double>(result.parameters), 1.02 * 2.0);
  EXPECT_NEAR(result.result["test_loss"].get<double>(), record("adamw").result["test_loss"].get<double>(), 0.01);
}

TEST_F(RanksOfTraining, ACheckpointResumesWithAnyNumberOfRanks) {
  ASSERT_EQ(run(command("whole", {"--nproc", "2"})), 0) << errors;
  ASSERT_EQ(run(command("part", {"--nproc", "2", "--shard-optimizer"}, "lehi-gn", 30)), 0) << errors;
  for (const int ranks : {1, 2, 3, 4}) {
    const auto name = fmt::format("resumed{}", ranks);
    fs::copy(out("part"), out(name), fs::copy_options::recursive);
    // Only the run's length changes, as if the first run had been stopped.
    auto text = slurp(out(name) / "config.toml");
    text.replace(text.find("steps = 30"), 10, "steps = 60");
    spill(out(name) / "config.toml", text);
    auto run_json = slurp(out(name) / "run.json");
    run_json.replace(run_json.find("\"done\""), 6, "\"interrupted\"");
    spill(out(name) / "run.json", run_json);
    std::vector<std::string> words = {LEHI_PROGRAM, "train", "--resume", "--out", out(name).string()};
    if (ranks > 1) words.insert(words.end(), {"--nproc", std::to_string(ranks)});
    ASSERT_EQ(run(words), 0) << errors;
    EXPECT_LE(relative_difference(weights(name), weights("whole")), 1e-5) << ranks << " ranks";
    EXPECT_TRUE(ranks != 2 || same_bits(weights(name), weights("whole")));
  }
}

/// Kills or stops one of three ranks in the middle of a run, checks the others' messages, and resumes the run.
class LostRanks : public RanksOfTraining {
 protected:
  static constexpr double limit = 3.0;  // --rank-timeout

  std::vector<std::string> long_run(const std::string& name) const {
    return command(
        name,
        {"--checkpoint-every", "50", "--set", "train.evaluate_every=100", "--rank-timeout", std::to_string(limit)},
        "lehi-gn", 400);
  }

  void lose(const std::string& name, int lost, int signal, double seconds) {
    {
      auto ranks = start(long_run(name), 3);
      const auto begin = steady_clock::now();
      while (!fs::exists(out(name) / "checkpoints/step-000000050") &&
             steady_clock::now() - begin < std::chrono::seconds(60)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
      ranks[static_cast<std::size_t>(lost)].send(signal);
      const auto since = steady_clock::now();
      for (int rank = 0; rank < 3; ++rank) {
        if (rank == lost) continue;
        Process& process = ranks[static_cast<std::size_t>(rank)];
        const auto code = process.wait(patience);
        const double passed = std::chrono::duration<double>(steady_clock::now() - since).count();
        ASSERT_TRUE(code) << "rank " << rank << " still waits for rank " << lost;
        if (code == 0 && rank == 0) return;  // the run had ended before
        EXPECT_EQ(*code, 1) << process.errors();
        EXPECT_THAT(process.errors(), HasSubstr(fmt::format("rank {} (host ", lost))) << "rank " << rank;
        // A stopped rank is lost after the limit, a killed one sooner; 12 s more for a busy machine.
        EXPECT_LE(passed, limit + 12.0) << process.errors();
      }
    }
    const auto status = record(name).status;
    EXPECT_TRUE(status == train::RunStatus::failed || lost == 0) << train::status_name(status);
    auto words = long_run(name);
    words.emplace_back("--resume");
    auto ranks = start(words, 3);
    for (Process& rank : ranks) EXPECT_EQ(rank.wait(patience), 0) << rank.errors();
    EXPECT_TRUE(same_bits(weights(name), weights("undisturbed")));
    fs::remove_all(out(name));
  }

  void run_undisturbed() {
    auto ranks = start(long_run("undisturbed"), 3);
    for (Process& rank : ranks) ASSERT_EQ(rank.wait(patience), 0) << rank.errors();
  }
};

TEST_F(LostRanks, AreNamedByTheOthersAndTheRunResumesWithTheSameBits) {
  run_undisturbed();
  std::mt19937 random(20);  // NOLINT(cert-msc51-cpp): the same moments every time
  std::uniform_real_distribution<double> moment(0.0, 0.5);
  const char* kills = std::getenv("LEHI_KILLS");  // ten in the slow suite
  for (int i = 0; i < (kills == nullptr ? 2 : std::atoi(kills)); ++i) {
    lose(fmt::format("killed{}", i), i % 3, SIGKILL, moment(random));
  }
  lose("stopped", 2, SIGSTOP, moment(random));
  if (kills != nullptr) lose("stopped0", 0, SIGSTOP, moment(random));
}

TEST_F(RanksOfTraining, AnErrorOfRankZeroEndsAllRanks) {
  fs::create_directories(out("taken"));
  spill(out("taken") / "other", "");
  auto ranks = start(command("taken"), 2);
  EXPECT_EQ(ranks[0].wait(patience), 3) << ranks[0].errors();
  EXPECT_EQ(ranks[1].wait(patience), 1) << ranks[1].errors();
  EXPECT_THAT(ranks[0].errors(), HasSubstr("holds no run"));
  EXPECT_THAT(ranks[1].errors(), HasSubstr("rank 0 (host "));
  EXPECT_EQ(run(command("taken", {"--nproc", "2"})), 3) << errors;
}

TEST_F(RanksOfTraining, ASignalToOneStopsAllAfterACheckpoint) {
  auto ranks = start(command("stopped", {}, "lehi-gn", 1000000), 2);
  const auto begin = steady_clock::now();
  while (!fs::exists(out("stopped") / "metrics.jsonl") || slurp(out("stopped") / "metrics.jsonl").empty()) {
    ASSERT_LE(steady_clock::now() - begin, std::chrono::seconds(60));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ranks[1].send(SIGTERM);
  EXPECT_EQ(ranks[0].wait(patience), 143) << ranks[0].errors();
  EXPECT_EQ(ranks[1].wait(patience), 143) << ranks[1].errors();
  EXPECT_EQ(record("stopped").status, train::RunStatus::interrupted);
  EXPECT_TRUE(weights("stopped").defined());
}

TEST_F(RanksOfTraining, WrongFlagsAreUsageErrors) {
  auto ranks = start(command("a", {"--backend", "nccl"}), 2);
  EXPECT_EQ(ranks[0].wait(patience), 2);
  EXPECT_THAT(ranks[0].errors(), HasSubstr("use --backend gloo"));
  EXPECT_EQ(run(command("a", {"--nproc", "0"})), 2);
  EXPECT_EQ(run(command("a", {"--compress", "float8"})), 2);
  EXPECT_THAT(errors, HasSubstr("must be one of none, bfloat16"));
  EXPECT_FALSE(fs::exists(out("a")));
}

TEST_F(RanksOfTraining, TorchrunStartsAndRestartsThem) {
  if (!is_installed("torchrun")) GTEST_SKIP() << "torchrun is not installed (package python3-torch)";
  // Debian's torchrun fails on its own defaults of --redirects and --tee.
  const std::vector<std::string> launcher = {"torchrun",
                                             "--no_python",
                                             "--nproc_per_node=2",
                                             "--max_restarts=2",
                                             "--redirects=0:1",
                                             "--tee=0:1",
                                             "--log_dir=" + (scratch / "logs").string(),
                                             "--monitor_interval=0.2",
                                             "--master_addr=127.0.0.1",
                                             fmt::format("--master_port={}", 20000 + (port + 1) % 12000)};
  // In the first attempt a shell around rank 1 kills it in the middle.
  const std::string script =
      "if [ \"$TORCHELASTIC_RESTART_COUNT\" = 0 ] && [ \"$RANK\" = 1 ]; then \"$@\" & p=$!; while [ ! -d "
      "\"$CHECKPOINT\" ]; do "
      "kill -0 $p || exit 9; done; kill -9 $p; wait $p; exit 1; fi; exec \"$@\"";
  std::vector<std::string> all = launcher;
  all.insert(all.end(), {"sh", "-c", script, "sh"});
  auto long_run = command("torchrun", {"--checkpoint-every", "50", "--rank-timeout", "3"}, "lehi-gn", 400);
  all.insert(all.end(), long_run.begin(), long_run.end());
  Process process(all, {"CHECKPOINT=" + (out("torchrun") / "checkpoints/step-000000050").string()}, scratch / "err");
  EXPECT_EQ(process.wait(patience), 0) << process.errors();
  EXPECT_EQ(record("torchrun").status, train::RunStatus::done);
  EXPECT_EQ(record("torchrun").sessions.size(), 2U) << "it was resumed once";
}

TEST_F(RanksOfTraining, MpirunStartsThem) {
  if (!is_installed("mpirun")) GTEST_SKIP() << "mpirun is not installed (package openmpi-bin)";
  ASSERT_EQ(run(command("two", {"--nproc", "2"})), 0) << errors;
  std::vector<std::string> words = {"mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2"};
  const auto own = command("mpirun");
  words.insert(words.end(), own.begin(), own.end());
  ASSERT_EQ(run(words), 0) << errors;
  EXPECT_EQ(record("mpirun").result["ranks"], 2);
  EXPECT_TRUE(same_bits(weights("mpirun"), weights("two")));
}

TEST_F(RanksOfTraining, TwoNetworksAreTwoHosts) {
  const auto name = fmt::format("lehi{}", ::getpid());
  const auto script = [&](const std::string& text) {
    return std::system(("{ " + text + "; } >/dev/null 2>&1").c_str());
  };
  const auto remove = [&] { script(fmt::format("ip netns del {0}a; ip netns del {0}b", name)); };
  const int made = script(fmt::format(
      "ip netns add {0}a && ip netns add {0}b && ip link add {0}x netns {0}a type veth peer name {0}y netns {0}b && "
      "ip -n {0}a addr add 10.77.0.1/24 dev {0}x && ip -n {0}b addr add 10.77.0.2/24 dev {0}y && "
      "ip -n {0}a link set {0}x up && ip -n {0}b link set {0}y up && ip -n {0}a link set lo up && ip -n {0}b link set "
      "lo up",
      name));
  if (made != 0) {
    remove();
    GTEST_SKIP() << "network namespaces are not allowed here";
  }
  ASSERT_EQ(run(command("two", {"--nproc", "2"})), 0) << errors;
  std::vector<Process> hosts;
  for (int rank = 0; rank < 2; ++rank) {
    // The second host has no run directory: rank 0 writes the record.
    std::vector<std::string> words = {"ip", "netns", "exec", name + (rank == 0 ? "a" : "b")};
    const auto own = command(rank == 0 ? "hosts" : "elsewhere");
    words.insert(words.end(), own.begin(), own.end());
    hosts.emplace_back(words,
                       std::vector<std::string>{fmt::format("RANK={}", rank), "WORLD_SIZE=2", "LOCAL_RANK=0",
                                                "LOCAL_WORLD_SIZE=1", "MASTER_ADDR=10.77.0.1", "MASTER_PORT=29500"},
                       scratch / fmt::format("err{}", rank));
  }
  for (Process& host : hosts) EXPECT_EQ(host.wait(patience), 0) << host.errors();
  remove();
  EXPECT_TRUE(same_bits(weights("hosts"), weights("two")));
  EXPECT_FALSE(fs::exists(out("elsewhere")));
}

}  // namespace
}  // namespace lehi::distributed
