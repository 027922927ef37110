// Runs as processes of this machine, so many at once.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "study/run_processes.h"

namespace lehi::study {

class LocalLauncher : public Launcher {
 public:
  LocalLauncher(const RunnerRequest& request, int held) : jobs_(slots_of(request)), processes_(request, held) {}

  void start(const std::vector<std::string>& runs) override { waiting_.assign(runs.begin(), runs.end()); }
  bool busy() const override { return !waiting_.empty() || processes_.count() > 0; }
  void look(const LaunchEvents& events) override;
  void stop(int signal) override;
  std::size_t running() const override { return processes_.count(); }
  std::size_t at_once() const override { return jobs_; }

 private:
  static std::size_t slots_of(const RunnerRequest& request) { return static_cast<std::size_t>(request.jobs); }

  std::size_t jobs_;
  RunProcesses processes_;
  std::deque<std::string> waiting_;
};

}  // namespace lehi::study
