// The files that a run writes into its directory while it trains.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "train/checkpoint.h"
#include "train/events.h"
#include "train/found_run.h"
#include "train/metrics_log.h"
#include "train/run.h"
#include "train/trainer.h"

namespace lehi::train {

/// run.json, metrics.jsonl, the event file and the checkpoints. An evaluation's line is written before the checkpoint
/// of its step: a run that resumes from the checkpoint then has all lines up to it.
class RunFiles {
 public:
  /// Configuration and trainer must outlive it. host: this machine. resumed: the trainer has loaded a checkpoint.
  RunFiles(const RunRequest& request, const RunConfig& config, const FoundRun& found, const runtime::Host& host,
           const Trainer& trainer, bool resumed);

  /// Writes the line of an evaluation.
  void add(const nlohmann::json& line);

  bool checkpoint_due(bool evaluated) const;
  /// At the end of a session: whether the newest checkpoint is of an earlier step.
  bool last_checkpoint_due() const;
  void save(const Checkpoint& checkpoint);

  RunRecord finish(RunStatus status, const std::string& message);

 private:
  void write() const;

  std::filesystem::path out_;
  const RunConfig& config_;
  const Trainer& trainer_;
  const distributed::ProcessRanks* ranks_;
  RunRecord record_;
  MetricsLog metrics_;
  EventLog events_;
  nlohmann::json last_line_ = nlohmann::json::object();
  std::int64_t saved_step_ = -1;  ///< of the newest checkpoint that this session has read or written
  double last_checkpoint_;        ///< when it was written, by base::seconds_now()
};

/// Writes status failed and the message to run.json if its status is running. Ignores errors: the caller already
/// reports the failure. files: none if the run had not begun.
void record_failure(const std::filesystem::path& out, RunFiles* files, const std::string& message);

}  // namespace lehi::train
