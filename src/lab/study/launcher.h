// What starts a study's runs and says how they ended: on this machine (local_launcher.h), through Slurm
// (slurm_launcher.h), or on the ranks of a program that mpirun started (mpi_launcher.h). A launcher knows runs by the
// names of their folders in the study's directory and nothing of what the study is about; the runner keeps the record.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "study/progress.h"

namespace lehi::study {

/// How a run's process ended.
struct RunEnd {
  int code = 1;         ///< its exit code; 1 when it has none
  std::string message;  ///< how it ended, for a run whose own record does not say
  bool forced = false;  ///< something from outside ended it: it failed, even where it could still save
};

/// What a launcher tells while it looks after its runs. Every run is `started` before it is `ended`.
struct LaunchEvents {
  std::function<void(const std::string& run)> started;
  std::function<void(const std::string& run, const ProgressLine& report)> reported;
  std::function<void(const std::string& run, const RunEnd& end)> ended;
  std::function<void(const std::string& sentence)> say;
};

class Launcher {
 public:
  Launcher() = default;
  Launcher(const Launcher&) = delete;
  Launcher(Launcher&&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  Launcher& operator=(Launcher&&) = delete;
  virtual ~Launcher() = default;

  /// Takes runs to be started in this order, as soon as there is room. Called when it is not busy. Throws
  /// FileError, having started nothing, where they can't be.
  virtual void start(const std::vector<std::string>& runs) = 0;

  /// True while a run runs or waits to.
  virtual bool busy() const = 0;

  /// Waits a moment and tells what has happened since.
  virtual void look(const LaunchEvents& events) = 0;

  /// Starts no more runs and has the running ones save and end; look() tells when they have.
  virtual void stop(int signal) = 0;

  /// The signal by which somebody elsewhere asked the study to stop; 0: nobody did.
  virtual int stop_request() const { return 0; }

  virtual std::size_t running() const = 0;

  /// As many as may run at once, for estimates of time; at least 1.
  virtual std::size_t at_once() const = 0;
};

}  // namespace lehi::study
