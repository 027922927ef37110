// A run with its record: the training loop around a Trainer, its directory, checkpoints, signals and resumption.
//
//   config.toml       the resolved configuration
//   run.json          what, where, how, and how it ended
//   metrics.jsonl     one line an evaluation
//   events.out.*      the same for TensorBoard
//   checkpoints/      step-000000123/, the newest ones
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distributed/process_ranks.h"
#include "train/config.h"
#include "train/run_record.h"

namespace lehi::train {

struct RunProgress {
  std::int64_t step = 0;
  std::int64_t total = 0;
  std::int64_t epoch = 0;
  double seconds = 0.0;                        ///< of training so far, earlier sessions included
  double seconds_left = 0.0;                   ///< an estimate
  double train_loss = 0.0;                     ///< mean since the last evaluation
  const nlohmann::json* evaluation = nullptr;  ///< the line of metrics.jsonl that has just been written, if any
};

struct RunRequest {
  std::optional<RunConfig> config;  ///< none: that of the directory, which is then resumed
  std::filesystem::path out;
  std::string data_dir;
  bool resume = false;
  std::vector<std::string> command_line;
  std::function<void(const RunProgress&)> on_progress;  ///< at every evaluation and several times a second
  std::function<void(const std::string&)> on_message;   ///< what the user should know, one sentence each
  /// With these this process is one of several, of which rank 0 keeps the record and the others need no directory.
  std::shared_ptr<distributed::ProcessRanks> ranks = nullptr;
};

struct RunOutcome {
  RunRecord record;
  int signal = 0;         ///< that interrupted it, or 0
  bool was_over = false;  ///< it had ended before: nothing was done
};

/// Trains until the end, a divergence or a signal. Throws std::invalid_argument for a request that can't be served,
/// DataError, ConfigError and FileError for files that can't be used; a directory that was not there before is then not
/// there after. With ranks, LostRankError when one of them is gone.
RunOutcome run_training(const RunRequest& request);

/// Sets LibTorch's and BLAS's threads to train.threads; by default to one for a small model, else to the host's cores,
/// divided over the ranks on it.
void set_threads(const RunConfig& config, std::int64_t parameters, int ranks_here = 1);

}  // namespace lehi::train
