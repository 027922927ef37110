// Runs as processes of this machine, a fixed number at once.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "study/run_processes.h"

namespace lehi::study {

class LocalLauncher : public Launcher {
 public:
  LocalLauncher(const RunnerRequest& request, int lock)
      : jobs_(static_cast<std::size_t>(request.jobs)), processes_(request, lock) {}

  void start(const std::vector<std::string>& runs) override { queue_.assign(runs.begin(), runs.end()); }
  bool busy() const override { return !queue_.empty() || processes_.count() > 0; }
  void poll(const LaunchEvents& events) override;
  void stop(int signal) override;
  std::size_t running() const override { return processes_.count(); }
  std::size_t concurrency() const override { return jobs_; }

 private:
  std::size_t jobs_;
  RunProcesses processes_;
  std::deque<std::string> queue_;
};

}  // namespace lehi::study
