// A run's directory: what it holds before the run, and its files while the run goes on. For run.cpp.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "train/checkpoint.h"
#include "train/events.h"
#include "train/metrics_log.h"
#include "train/run.h"
#include "train/trainer.h"

namespace lehi::train {

struct FoundRun {
  std::optional<RunConfig> config;
  std::optional<RunRecord> record;

  /// Nothing is left to be done.
  bool is_over() const {
    return record && (record->status == RunStatus::done || record->status == RunStatus::diverged);
  }
};

/// FileError when the directory holds something else.
FoundRun look_at(const std::filesystem::path& out);

/// The newest whole one, if any; the request's user hears of damaged ones. Half-written files are removed.
std::optional<FoundCheckpoint> find_checkpoint(const RunRequest& request);

/// The run's files while it goes on. The order of writing is what makes a resumed run complete: an evaluation's line,
/// then a checkpoint that knows of it.
class RunFiles {
 public:
  /// Configuration and trainer must outlive it. resumed: the trainer is where a checkpoint left it.
  RunFiles(const RunRequest& request, const RunConfig& config, const FoundRun& found, const Trainer& trainer,
           bool resumed);

  /// An evaluation's line.
  void add(const nlohmann::json& line);

  bool checkpoint_due(bool evaluated) const;
  /// At the end of a session: the newest checkpoint is of an earlier step. A good one is not written again.
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
  double last_checkpoint_;        ///< on the clock of base::seconds_now()
};

/// Has run.json say that the run failed, where it says that the run goes on (not where it is done), as far as that can
/// be written. files: none where the run had not begun.
void note_failure(const std::filesystem::path& out, RunFiles* files, const std::string& message);

}  // namespace lehi::train
