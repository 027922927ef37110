// Runs as tasks of Slurm job arrays. The runs' directories, on a file system that the nodes share, contain the progress
// of each run; the controller reports which tasks wait, run or have ended. An array outlives the program that submitted
// it: a resumed study follows the arrays that still run instead of submitting their runs again.
#pragma once

#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/launcher.h"
#include "study/slurm.h"
#include "study/slurm_files.h"

namespace lehi::study {

class SlurmLauncher : public Launcher {
 public:
  /// Finds the study's arrays that still run; FileError when the controller does not answer.
  explicit SlurmLauncher(const RunnerRequest& request);

  void start(const std::vector<std::string>& runs) override;
  bool busy() const override { return !waiting_.empty() || !arrays_.empty(); }
  void poll(const LaunchEvents& events) override;
  void stop(int signal) override;
  std::size_t running() const override;
  std::size_t concurrency() const override;

 private:
  struct Task {
    std::string run;
    bool started = false;
    bool signalled = false;
    std::optional<double> over_since;  ///< when the controller first reported its end
  };
  struct Array {
    SlurmArray files;
    std::map<std::size_t, Task> tasks;  ///< those that have not ended
  };

  void submit();
  void poll_arrays(const LaunchEvents& events);
  void poll_array(Array& array, const LaunchEvents& events);
  /// True when the task is over and its end has been reported. `state` is nullptr for a task that Slurm no longer
  /// knows.
  bool poll_task(Array& array, std::size_t index, const SlurmTask* state, const LaunchEvents& events);
  bool report_end(const Array& array, std::size_t index, Task& task, const LaunchEvents& events);
  void report_wait_reason(const std::string& reason, const LaunchEvents& events);

  const RunnerRequest& request_;
  std::list<Array> found_;  ///< arrays that still ran when the study was resumed, until start() takes them over
  std::list<Array> arrays_;
  std::deque<std::string> waiting_;   ///< runs that are not submitted yet
  std::vector<std::string> notices_;  ///< for the next poll()
  int stop_ = 0;
  double changed_at_ = 0.0;
  double polled_at_ = -1e9;
  bool unavailable_ = false;  ///< the controller did not answer last time
  std::string wait_reason_;   ///< the last reason that was reported
};

}  // namespace lehi::study
