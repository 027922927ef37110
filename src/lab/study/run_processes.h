// The processes of runs on this machine. Turns their output and their ends into launch events.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "study/launcher.h"
#include "study/process.h"
#include "study/runner.h"

namespace lehi::study {

/// The arguments of `lehi train` for any run of the study, except the run's directory, which follows as the last one.
/// `progress` is the value of --progress.
std::vector<std::string> train_arguments(const RunnerRequest& request, const std::string& progress);

/// "was ended by signal 9 (SIGKILL): the last line", "ended with exit code 3".
std::string outcome_text(int code, int signal, const std::string& last_line);

/// A line of a run's standard error without the program's name in front; "" for a blank line.
std::string error_line(std::string_view line);

class RunProcesses {
 public:
  /// Every process inherits the descriptor `lock`; -1 for none.
  RunProcesses(const RunnerRequest& request, int lock) : request_(request), lock_(lock) {}

  void start(const std::string& run, const LaunchEvents& events);

  /// Waits at most a tenth of a second for output, then reports progress and ends.
  void poll(const LaunchEvents& events);

  void send(int signal) const;

  std::size_t count() const { return running_.size(); }

 private:
  struct Running {
    std::string run;
    Child child;
    std::string last_error;  ///< last line of its standard error
  };

  void wait_for_output() const;

  const RunnerRequest& request_;
  int lock_;
  std::list<Running> running_;
};

}  // namespace lehi::study
