// Starts the runs of a study and reports how they end: on this machine (local_launcher.h), through Slurm
// (slurm_launcher.h), or on the ranks of a program that mpirun started (mpi_launcher.h). A launcher identifies runs by
// the names of their directories inside the study's and needs no other information; the runner keeps the record.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/progress_line.h"

namespace lehi::study {

/// How a run's process ended.
struct RunEnd {
  int code = 1;         ///< its exit code; 1 when it has none
  std::string message;  ///< how it ended, for a run whose own record has no message
  bool forced = false;  ///< ended from outside (a time limit, say): the run failed, even if it saved a checkpoint
};

/// Callbacks of Launcher::poll(). Every run is `started` before it is `ended`.
struct LaunchEvents {
  std::function<void(const std::string& run)> started;
  std::function<void(const std::string& run, const ProgressLine& line)> reported;
  std::function<void(const std::string& run, const RunEnd& end)> ended;
  std::function<void(const std::string& sentence)> notice;
};

class Launcher {
 public:
  Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher(Launcher&&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  Launcher& operator=(Launcher&&) = delete;
  virtual ~Launcher() = default;

  /// Queues runs, which start in this order as soon as there is room. Call it only when the launcher is not busy.
  /// Throws FileError, with no run started, when they can't be started.
  virtual void start(const std::vector<std::string>& runs) = 0;

  /// True while a run is queued or running.
  virtual bool busy() const = 0;

  /// Waits a moment and calls `events` for everything that has happened since the last call.
  virtual void poll(const LaunchEvents& events) = 0;

  /// Clears the queue and sends the signal to the running processes, which save and exit; poll() reports their ends.
  virtual void stop(int signal) = 0;

  /// The signal with which another process asked the study to stop, or 0.
  virtual int stop_request() const { return 0; }

  virtual std::size_t running() const = 0;

  /// How many runs may run at once, at least 1; for estimates of the remaining time.
  virtual std::size_t concurrency() const = 0;
};

}  // namespace lehi::study
