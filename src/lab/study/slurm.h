// Slurm's commands sbatch, squeue, scontrol and scancel, run without a shell, so that no shell interprets what a user
// wrote. Needs no accounting database: a job that the controller no longer knows has ended.
#pragma once

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lehi::study {

/// A task of a job array, as the controller reports it.
struct SlurmTask {
  std::string state;   ///< "PENDING", "RUNNING", "TIMEOUT", ...
  std::string reason;  ///< why it waits or ended; "None" if there is no reason

  bool ended() const;
  bool waits() const { return state == "PENDING" || state == "REQUEUE_HOLD" || state == "REQUEUED"; }
};

/// The tasks of a job array that the controller knows, by index.
using SlurmTasks = std::map<std::size_t, SlurmTask>;

/// How a task ended.
struct SlurmEnd {
  std::string state;  ///< "" when the controller no longer knows the task
  std::string reason;
  int code = 0;
  int signal = 0;
};

/// The controller did not answer.
class SlurmUnavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// FileError when one of Slurm's commands is not on the PATH; std::invalid_argument for arguments that are not options
/// of sbatch or that would send the runs to another cluster.
void check_slurm(const std::vector<std::string>& options);

/// Submits `command` as an array of `tasks` tasks, at most `limit` of them at once (0: no limit), and returns the job
/// number. FileError with sbatch's message when it rejects the job.
std::string submit_array(const std::string& name, std::size_t tasks, std::size_t limit,
                         const std::vector<std::string>& options, const std::vector<std::string>& command);

/// The largest number of tasks that an array may have on this cluster.
std::size_t max_array_size();

/// Throws SlurmUnavailable.
SlurmTasks query_tasks(const std::string& job);

/// The job number of the array that was submitted with this name; nothing if there is none. Throws SlurmUnavailable.
std::optional<std::string> find_array(const std::string& name);

/// How a task that has ended did so. Throws SlurmUnavailable.
SlurmEnd query_end(const std::string& job, std::size_t task);

/// Cancels an array's waiting tasks. False when scancel failed.
bool cancel_waiting(const std::string& job);

/// Sends a signal to the process of a running task. False when scancel failed.
bool signal_task(const std::string& job, std::size_t task, int signal);

}  // namespace lehi::study
