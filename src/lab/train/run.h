// A training run with its record: reads or resumes the run's directory, trains, writes checkpoints, and stops cleanly
// on SIGINT and SIGTERM. The directory:
//
//   config.toml       the resolved configuration
//   run.json          what ran, where, how, and how it ended
//   metrics.jsonl     one line per evaluation
//   events.out.*      the same for TensorBoard
//   checkpoints/      step-000000123/, the newest ones
//
// The parts: found_run.h (what the directory holds before), run_files.h (what is written into it), training_loop.h,
// run_progress.h, run_ranks.h (what several ranks agree on), threads.h.
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
  std::optional<RunConfig> config;  ///< none: resume the run in `out` with its own configuration
  std::filesystem::path out;
  std::string data_dir;
  bool resume = false;
  std::vector<std::string> command_line;
  std::function<void(const RunProgress&)> on_progress;  ///< called at every evaluation and several times a second
  std::function<void(const std::string&)> on_message;   ///< called with messages for the user, one sentence each
  /// Set if this process is one of several. Rank 0 writes the record; the others need no directory.
  std::shared_ptr<distributed::ProcessRanks> ranks = nullptr;
};

struct RunOutcome {
  RunRecord record;
  int signal = 0;         ///< the signal that interrupted it, or 0
  bool was_over = false;  ///< the run had ended before: nothing was done
};

/// Trains until the end, a divergence or a signal. Throws std::invalid_argument for a request that can't be met, and
/// DataError, ConfigError or FileError for files that can't be used; a directory that did not exist before is then
/// removed again. With several ranks, LostRankError if one of them is lost.
RunOutcome run_training(const RunRequest& request);

}  // namespace lehi::train
