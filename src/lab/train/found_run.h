// What a run's directory holds before training: nothing, a run to resume, or a run that has ended.
#pragma once

#include <filesystem>
#include <optional>

#include "train/checkpoint.h"
#include "train/run.h"

namespace lehi::train {

struct FoundRun {
  std::optional<RunConfig> config;
  std::optional<RunRecord> record;

  /// Nothing is left to do.
  bool is_over() const {
    return record && (record->status == RunStatus::done || record->status == RunStatus::diverged);
  }
};

/// Reads config.toml and run.json. FileError if the directory holds anything but a run.
FoundRun find_run(const std::filesystem::path& out);

/// The configuration to train with: the request's, or that of the run to resume. Throws if the directory holds a run
/// but the request does not resume it or asks for a different one.
RunConfig config_to_use(const RunRequest& request, const FoundRun& found);

/// The newest undamaged checkpoint, if any; damaged ones are reported to the user. Removes incomplete files first.
std::optional<FoundCheckpoint> find_checkpoint(const RunRequest& request);

/// Removes the directory of a run that failed before its first step. config.toml goes last: if the process is killed in
/// between, the run can still be resumed. Ignores errors: the caller already reports why the run failed.
void remove_partial_run(const std::filesystem::path& out);

}  // namespace lehi::train
