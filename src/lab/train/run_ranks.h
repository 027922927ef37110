// What the ranks of one run agree on. With a null pointer for the ranks there is one process and nothing to agree on.
#pragma once

#include <torch/types.h>

#include <string>

#include "base/signals.h"
#include "lehi/ranks.h"
#include "train/run_record.h"

namespace lehi::train {

/// Whether the ranks stop after the current step, because one of them has received a signal. The sum over the ranks
/// runs while the step is computed.
class StopVote {
 public:
  StopVote(Ranks* ranks, const base::SignalWatch& signals);

  /// The same on all ranks.
  bool result(const base::SignalWatch& signals) const;

 private:
  torch::Tensor votes_;
  Ranks::Wait wait_;
};

/// Rank 0's `answer` on all ranks: what depends on its clock or its directory.
bool rank0_decides(bool answer, Ranks* ranks);

/// What a rank without a run.json returns.
RunRecord record_without_file(RunStatus status, const std::string& message);

}  // namespace lehi::train
