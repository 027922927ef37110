// Slurm by its commands: sbatch, squeue, scontrol, scancel. Each is an argument vector; no shell reads what a user
// wrote. No accounting database is needed: what the controller has forgotten has ended.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lehi::study {

/// What the controller says of a task of an array.
struct SlurmTask {
  std::string state;   ///< "PENDING", "RUNNING", "TIMEOUT", ...
  std::string reason;  ///< why it waits or ended; "None" when there is nothing to say

  bool ended() const;
  bool waits() const { return state == "PENDING" || state == "REQUEUE_HOLD" || state == "REQUEUED"; }
};

/// The tasks of a job array that the controller knows, by index.
using SlurmTasks = std::map<std::size_t, SlurmTask>;

/// How a task ended.
struct SlurmEnd {
  std::string state;  ///< "" when the controller has forgotten it
  std::string reason;
  int code = 0;
  int signal = 0;
};

/// The question could not be answered: the controller does not answer.
class SlurmSilence : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// FileError where Slurm's commands are not on the PATH, std::invalid_argument for options that sbatch would not
/// take for options or that would send the runs where nobody looks for them.
void check_slurm(const std::vector<std::string>& options);

/// Submits `command` as an array of `tasks` tasks, at most `limit` of them at once (0: any number), and returns the
/// job's number. FileError with sbatch's own words where it refuses.
std::string submit_array(const std::string& name, std::size_t tasks, std::size_t limit,
                         const std::vector<std::string>& options, const std::vector<std::string>& command);

/// The largest number of tasks that an array may have here.
std::size_t largest_array();

/// Throws SlurmSilence.
SlurmTasks ask_tasks(const std::string& job);

/// The number of the array that was submitted with this name; nothing when there is none. Throws SlurmSilence.
std::optional<std::string> find_array(const std::string& name);

/// What became of a task that has ended. Throws SlurmSilence.
SlurmEnd ask_end(const std::string& job, std::size_t task);

/// Takes an array's waiting tasks back. False when Slurm did not do it; so with the other.
bool cancel_waiting(const std::string& job);

/// Sends a signal to the process of a running task.
bool signal_task(const std::string& job, std::size_t task, int signal);

}  // namespace lehi::study
