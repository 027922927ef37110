// How a launcher started this process: its rank, the number of ranks, and where they meet. Read from the environment
// variables of torchrun, Open MPI's mpirun or Slurm's srun; `lehi train --nproc` sets those of torchrun.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lehi::distributed {

struct Launch {
  std::string launcher;  ///< "torchrun", "mpirun" or "srun"
  int rank = 0;
  int size = 1;
  int local_rank = 0;                  ///< among the ranks of this host
  int local_size = 1;                  ///< ranks on this host
  std::string address;                 ///< of the host where the ranks meet
  std::uint16_t port = 0;              ///< on that host
  bool launcher_serves_store = false;  ///< otherwise rank 0 serves it
  int attempt = 0;                     ///< how often torchrun has restarted the ranks
};

/// Looks up an environment variable: its value, or nullptr.
using Environment = std::function<const char*(const char* name)>;

/// std::nullopt where this process is the only one. Throws std::invalid_argument for invalid or missing variables, and
/// where several hosts have no address to meet at.
std::optional<Launch> launch_of(const Environment& environment);
std::optional<Launch> launch_of_process();

/// The variables that launch_of() reads. A program that a rank starts, but that is no rank itself, must not inherit
/// them.
const std::vector<std::string>& launch_variables();

/// The first host of a list in Slurm's short form: "node03" of "node[03-05,9],other". "" for an empty list.
std::string first_host(const std::string& list);

}  // namespace lehi::distributed
