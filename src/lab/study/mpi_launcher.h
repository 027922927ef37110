// Runs on every rank of a program that mpirun, srun or torchrun started, rank 0 included: each rank claims the next run
// when it has room. Rank 0 keeps the study; the other ranks send it the events of their runs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "study/launcher.h"
#include "study/run_processes.h"
#include "study/study_ranks.h"

namespace lehi::study {

/// The launcher of rank 0.
class MpiLauncher : public Launcher {
 public:
  MpiLauncher(const RunnerRequest& request, int lock);

  void start(const std::vector<std::string>& runs) override;
  bool busy() const override;
  void poll(const LaunchEvents& events) override;
  void stop(int signal) override;
  int stop_request() const override { return stop_request_; }
  std::size_t running() const override { return running_.size(); }
  std::size_t concurrency() const override;

 private:
  StudyRanks& ranks_;
  std::size_t jobs_;  ///< per rank
  RunProcesses processes_;
  std::set<std::string> waiting_;
  std::set<std::string> running_;
  bool stopped_ = false;
  int stop_request_ = 0;
  double checked_at_ = 0.0;
};

/// Runs the claimed runs of a rank other than 0 until rank 0 tells it to exit; `request.ranks` is this rank. Throws
/// when the connection to rank 0 is lost.
void run_worker_rank(RunnerRequest request);

}  // namespace lehi::study
