// The processes of runs on this machine, as many as somebody starts: what they print and how they end becomes events.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "study/launcher.h"
#include "study/process.h"
#include "study/runner.h"

namespace lehi::study {

/// The arguments of `lehi train` for any run of the study, but for the run's directory, which comes last. `progress` is
/// as in --progress.
std::vector<std::string> train_arguments(const RunnerRequest& request, const std::string& progress);

/// "was ended by signal 9 (SIGKILL): the last line", "ended with exit code 3".
std::string outcome_text(int code, int signal, const std::string& last_line);

/// A line that a run printed, without the program's name in front; "" for one that says nothing.
std::string complaint_of(std::string_view line);

class RunProcesses {
 public:
  /// The descriptor `held` (a lock, or -1) stays open in every process.
  RunProcesses(const RunnerRequest& request, int held) : request_(request), held_(held) {}

  void start(const std::string& run, const LaunchEvents& events);

  /// Waits for output, but not for long.
  void look(const LaunchEvents& events);

  void send(int signal) const;

  std::size_t count() const { return running_.size(); }

 private:
  struct Running {
    std::string run;
    Child child;
    std::string complaint;  ///< the last line on its standard error
  };

  void wait_for_output() const;

  const RunnerRequest& request_;
  int held_;
  std::list<Running> running_;
};

}  // namespace lehi::study
