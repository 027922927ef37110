#include "distributed/launch.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "runtime/message.h"

namespace lehi::distributed {
namespace {

constexpr int max_ranks = 1 << 20;
constexpr const char* loopback = "127.0.0.1";

std::optional<int> integer_variable(const Environment& environment, const char* name, int smallest, int largest) {
  const char* text = environment(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view view = text;
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < smallest || value > largest) {
    throw_invalid_argument(
        "the environment variable {} is '{}'; expected an integer from {} to {}, as torchrun, mpirun or srun set it",
        name, view, smallest, largest);
  }
  return value;
}

std::string string_variable(const Environment& environment, const char* name) {
  const char* text = environment(name);
  return text == nullptr ? "" : text;
}

// Different ports for jobs that run at the same time on one host, below the range that the system assigns from.
std::uint16_t port_of_job(const std::string& job) {
  constexpr std::size_t first = 20000;
  constexpr std::size_t ports = 12000;
  return static_cast<std::uint16_t>(first + std::hash<std::string>{}(job) % ports);
}

// What each launcher calls the same variables.
struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

constexpr Names torchrun = {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names mpirun = {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                          "OMPI_COMM_WORLD_LOCAL_SIZE"};
// A batch script that srun has not started also has SLURM_PROCID, but not the step's number of tasks.
constexpr Names srun = {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr};

std::optional<Launch> launch_by(const Environment& environment, const Names& names) {
  const auto size = integer_variable(environment, names.size, 1, max_ranks);
  if (!size || *size == 1) return std::nullopt;
  const auto rank = integer_variable(environment, names.rank, 0, *size - 1);
  if (!rank)
    throw_invalid_argument("the environment variable {} is set, but {} is not: start every rank with {}", names.size,
                           names.rank, names.launcher);
  Launch launch{.launcher = names.launcher, .rank = *rank, .size = *size};
  launch.local_rank = integer_variable(environment, names.local_rank, 0, *size - 1).value_or(launch.rank);
  launch.local_size = launch.size;
  if (names.local_size != nullptr) {
    launch.local_size = integer_variable(environment, names.local_size, 1, *size).value_or(launch.size);
  }
  return launch;
}

// "2(x3),1" lists the tasks of each node. The first number serves as an upper limit for this node.
int tasks_of_first_node(const std::string& text, int size) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && value >= 1 && value <= size ? value : size;
}

}  // namespace

std::string first_host(const std::string& list) {
  const auto bracket = list.find('[');
  const auto comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const auto end = list.find_first_of("-,]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end == std::string::npos ? end : end - bracket - 1);
}

std::optional<Launch> launch_of(const Environment& environment) {
  auto launch = launch_by(environment, torchrun);
  std::string job;
  std::string host;
  if (launch) {
    launch->launcher_serves_store = string_variable(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
    launch->attempt = integer_variable(environment, "TORCHELASTIC_RESTART_COUNT", 0, max_ranks).value_or(0);
  } else if (launch = launch_by(environment, mpirun); launch) {
    job = string_variable(environment, "PMIX_NAMESPACE");
  } else if (launch = launch_by(environment, srun); launch) {
    job = string_variable(environment, "SLURM_JOB_ID") + "." + string_variable(environment, "SLURM_STEP_ID");
    launch->local_size = tasks_of_first_node(string_variable(environment, "SLURM_STEP_TASKS_PER_NODE"), launch->size);
    host = first_host(string_variable(environment, "SLURM_STEP_NODELIST"));
  } else {
    return std::nullopt;
  }
  launch->address = string_variable(environment, "MASTER_ADDR");
  if (launch->address.empty()) launch->address = launch->local_size == launch->size ? loopback : host;
  if (launch->address.empty()) {
    throw_invalid_argument(
        "{} started ranks on several hosts, which need an address to meet at: set MASTER_ADDR to rank 0's host, for "
        "example with `mpirun -x MASTER_ADDR=$(hostname)`",
        launch->launcher);
  }
  const auto port = integer_variable(environment, "MASTER_PORT", 1, 65535);
  if (!port && job.empty())
    throw_invalid_argument(
        "the environment variable WORLD_SIZE is set, but MASTER_PORT is not: start every rank with torchrun");
  launch->port = port ? static_cast<std::uint16_t>(*port) : port_of_job(job);
  return launch;
}

std::optional<Launch> launch_of_process() {
  return launch_of([](const char* name) { return std::getenv(name); });  // NOLINT(concurrency-mt-unsafe)
}

const std::vector<std::string>& launch_variables() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE",
                                    "TORCHELASTIC_RESTART_COUNT"};
    for (const Names& launcher : {torchrun, mpirun, srun}) {
      for (const char* name : {launcher.rank, launcher.size, launcher.local_rank, launcher.local_size}) {
        if (name != nullptr) all.emplace_back(name);
      }
    }
    return all;
  }();
  return names;
}

}  // namespace lehi::distributed
