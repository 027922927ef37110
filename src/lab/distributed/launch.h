// How a launcher started this process: its rank among how many, and where the ranks meet. Read from the environment
// that torchrun, Open MPI's mpirun and Slurm's srun set; `lehi train --nproc` sets torchrun's.
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
  int local_rank = 0;       ///< among the ranks of this host
  int local_size = 1;       ///< ranks on this host
  std::string address;      ///< of the host where the ranks meet
  std::uint16_t port = 0;   ///< there
  bool store_runs = false;  ///< the launcher runs the store there; otherwise rank 0 does
  int attempt = 0;          ///< how often torchrun has started the ranks anew
};

/// An environment: the variable's value, or nullptr.
using Environment = std::function<const char*(const char* name)>;

/// Nothing where this process is the only one. Throws std::invalid_argument for variables that make no sense, and where
/// several hosts were given none to meet at.
std::optional<Launch> launch_of(const Environment& environment);
std::optional<Launch> launch_of_process();

/// The variables that launch_of() looks at: a program that is started by a rank but is none itself must not see them.
const std::vector<std::string>& launch_variables();

/// "node[03-05,9],other" begins with "node03": the first host of Slurm's short form. "" for an empty list.
std::string first_host(const std::string& list);

}  // namespace lehi::distributed
