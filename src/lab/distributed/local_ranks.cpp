#include "distributed/local_ranks.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "base/signals.h"
#include "distributed/environment.h"
#include "runtime/message.h"

namespace lehi::distributed {
namespace {

using namespace std::chrono_literals;

// This process's environment with the variables of a rank, as "NAME=value".
std::vector<std::string> environment_of(int rank, int ranks, std::uint16_t port) {
  auto result = environment_without_ranks();
  const std::map<std::string, std::string> own = {{"RANK", std::to_string(rank)},
                                                  {"LOCAL_RANK", std::to_string(rank)},
                                                  {"WORLD_SIZE", std::to_string(ranks)},
                                                  {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
                                                  {"MASTER_ADDR", "127.0.0.1"},
                                                  {"MASTER_PORT", std::to_string(port)},
                                                  {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  for (const auto& [name, value] : own) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

std::vector<char*> null_terminated(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The child gets a process group of its own, so that Ctrl-C reaches it once, through its parent.
pid_t start_rank(const std::string& program, std::vector<std::string> arguments, std::vector<std::string> environment) {
  const auto argv = null_terminated(arguments);
  const auto envp = null_terminated(environment);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0)
    throw_invalid_argument("cannot start the process of a rank: {}",
                           std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  if (child > 0) return child;
  // From here on only async-signal-safe calls.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::execve(program.c_str(), argv.data(), envp.data());
  ::_exit(127);
}

}  // namespace

int run_local_ranks(int ranks, const std::string& program, const std::vector<std::string>& arguments) {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = true;
  options.waitWorkers = false;
  const c10d::TCPStore store("127.0.0.1", options);

  const base::SignalWatch signals;
  std::map<pid_t, int> running;  // process and rank
  for (int rank = 0; rank < ranks; ++rank) {
    running.emplace(start_rank(program, arguments, environment_of(rank, ranks, store.getPort())), rank);
  }
  int code = 0;
  bool others_failed = false;
  bool passed_on = false;
  while (!running.empty()) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (const auto found = running.find(ended); ended > 0 && found != running.end()) {
      const int own = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      if (found->second == 0) {
        code = own;
      } else if (own != 0) {
        others_failed = true;
      }
      running.erase(found);
      continue;
    }
    if (signals.received() != 0 && !passed_on) {
      passed_on = true;
      for (const auto& [process, rank] : running) ::kill(process, signals.received());
    }
    std::this_thread::sleep_for(20ms);
  }
  return code == 0 && others_failed ? 1 : code;
}

}  // namespace lehi::distributed
