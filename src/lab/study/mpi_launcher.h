// Runs on every rank of a program that mpirun, srun or torchrun started, rank 0 included: a rank that has room takes
// the next run. Rank 0 keeps the study; the others tell it what their runs do.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "study/launcher.h"
#include "study/run_processes.h"
#include "study/study_ranks.h"

namespace lehi::study {

/// Of rank 0.
class MpiLauncher : public Launcher {
 public:
  MpiLauncher(const RunnerRequest& request, int held);

  void start(const std::vector<std::string>& runs) override;
  bool busy() const override;
  void look(const LaunchEvents& events) override;
  void stop(int signal) override;
  int stop_request() const override { return stop_request_; }
  std::size_t running() const override { return running_.size(); }
  std::size_t at_once() const override;

 private:
  StudyRanks& ranks_;
  std::size_t jobs_;  ///< of a rank
  RunProcesses processes_;
  std::set<std::string> waiting_;
  std::set<std::string> running_;
  bool stopped_ = false;
  int stop_request_ = 0;
  double checked_at_ = 0.0;
};

/// What the other ranks do until rank 0 sends them home: `request.ranks` says which one this is. Throws where rank 0 is
/// lost.
void work_for_rank_zero(RunnerRequest request);

}  // namespace lehi::study
