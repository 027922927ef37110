// Sends the checkpoint that rank 0 has read to the other ranks, which may not see its disk.
#pragma once

#include <optional>

#include "distributed/process_ranks.h"
#include "train/checkpoint.h"

namespace lehi::train {

/// Afterwards every rank has rank 0's checkpoint, or none if rank 0 has none.
void broadcast_checkpoint(std::optional<FoundCheckpoint>& checkpoint, distributed::ProcessRanks& ranks);

}  // namespace lehi::train
