// A checkpoint that rank 0 has read, on all ranks: the others may not see its disk.
#pragma once

#include <optional>

#include "distributed/process_ranks.h"
#include "train/checkpoint.h"

namespace lehi::train {

/// Rank 0's, or none where it has none.
void share_checkpoint(std::optional<FoundCheckpoint>& checkpoint, distributed::ProcessRanks& ranks);

}  // namespace lehi::train
