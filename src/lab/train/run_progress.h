// Reports a run's progress to the request's on_progress.
#pragma once

#include <nlohmann/json.hpp>

#include "train/run.h"
#include "train/trainer.h"

namespace lehi::train {

class ProgressReporter {
 public:
  /// Request and trainer must outlive it.
  ProgressReporter(const RunRequest& request, const Trainer& trainer);

  /// To be called after every step. Reports every evaluation (`evaluation`: its line of metrics.jsonl, else null), and
  /// otherwise at most five times a second.
  void report(const nlohmann::json* evaluation);

 private:
  const RunRequest& request_;
  const Trainer& trainer_;
  double start_;
  std::int64_t first_step_;
  double last_ = 0.0;
};

}  // namespace lehi::train
