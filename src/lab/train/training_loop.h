// The loop of a run: steps, evaluations, checkpoints, progress, until the end, a divergence or a signal.
#pragma once

#include <optional>

#include "base/signals.h"
#include "train/run.h"
#include "train/run_files.h"
#include "train/trainer.h"

namespace lehi::train {

/// `files`: none on the ranks that write no record.
RunOutcome run_training_loop(const RunRequest& request, const RunConfig& config, Trainer& trainer,
                             std::optional<RunFiles>& files, const base::SignalWatch& signals);

}  // namespace lehi::train
