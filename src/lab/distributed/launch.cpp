#include "distributed/launch.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "runtime/message.h"

namespace lehi::distributed {
namespace {

constexpr int most_ranks = 1 << 20;
constexpr const char* loopback = "127.0.0.1";

std::optional<int> number_of(const Environment& environment, const char* name, int least, int most) {
  const char* text = environment(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::string_view view = text;
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error != std::errc() || end != view.data() + view.size() || value < least || value > most) {
    throw_invalid_argument(
        "the environment's {} is '{}'; expected a whole number from {} to {}, as torchrun, mpirun or srun set it", name,
        view, least, most);
  }
  return value;
}

std::string text_of(const Environment& environment, const char* name) {
  const char* text = environment(name);
  return text == nullptr ? "" : text;
}

// Jobs that run at the same time on one host should not meet at the same port; below the system's own choices.
std::uint16_t port_of_job(const std::string& job) {
  constexpr std::size_t first = 20000;
  constexpr std::size_t ports = 12000;
  return static_cast<std::uint16_t>(first + std::hash<std::string>{}(job) % ports);
}

// The launcher's variables that play the same part.
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
// A batch script that is no step has a SLURM_PROCID too, but not the step's number of tasks.
constexpr Names srun = {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr};

std::optional<Launch> ranks_of(const Environment& environment, const Names& names) {
  const auto size = number_of(environment, names.size, 1, most_ranks);
  if (!size || *size == 1) return std::nullopt;
  const auto rank = number_of(environment, names.rank, 0, *size - 1);
  if (!rank)
    throw_invalid_argument("the environment has {} but no {}: start every rank with {}", names.size, names.rank,
                           names.launcher);
  Launch launch{.launcher = names.launcher, .rank = *rank, .size = *size};
  launch.local_rank = number_of(environment, names.local_rank, 0, *size - 1).value_or(launch.rank);
  launch.local_size = launch.size;
  if (names.local_size != nullptr) {
    launch.local_size = number_of(environment, names.local_size, 1, *size).value_or(launch.size);
  }
  return launch;
}

// "2(x3),1": the tasks of each node. The first number is an upper limit of this node's.
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
  auto launch = ranks_of(environment, torchrun);
  std::string job;
  std::string host;
  if (launch) {
    launch->store_runs = text_of(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
    launch->attempt = number_of(environment, "TORCHELASTIC_RESTART_COUNT", 0, most_ranks).value_or(0);
  } else if (launch = ranks_of(environment, mpirun); launch) {
    job = text_of(environment, "PMIX_NAMESPACE");
  } else if (launch = ranks_of(environment, srun); launch) {
    job = text_of(environment, "SLURM_JOB_ID") + "." + text_of(environment, "SLURM_STEP_ID");
    launch->local_size = tasks_of_first_node(text_of(environment, "SLURM_STEP_TASKS_PER_NODE"), launch->size);
    host = first_host(text_of(environment, "SLURM_STEP_NODELIST"));
  } else {
    return std::nullopt;
  }
  launch->address = text_of(environment, "MASTER_ADDR");
  if (launch->address.empty()) launch->address = launch->local_size == launch->size ? loopback : host;
  if (launch->address.empty()) {
    throw_invalid_argument(
        "{} started ranks on several hosts, but not where they meet: set MASTER_ADDR to rank 0's host, for example "
        "with `mpirun -x MASTER_ADDR=$(hostname)`",
        launch->launcher);
  }
  const auto port = number_of(environment, "MASTER_PORT", 1, 65535);
  if (!port && job.empty())
    throw_invalid_argument("the environment has {} but no MASTER_PORT: start every rank with torchrun", "WORLD_SIZE");
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
