// Connects the ranks of a launch: the store where they meet, and c10d's process groups for what they sum.
#pragma once

#include <torch/version.h>

#include <string>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "distributed/process_ranks.h"

namespace lehi::distributed {

/// The base class of ProcessGroupGloo and ProcessGroupMPI.
#if TORCH_VERSION_MAJOR >= 2
using ProcessGroup = c10d::Backend;
#else
using ProcessGroup = c10d::ProcessGroup;
#endif

struct ProcessGroups {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<ProcessGroup> sums;   ///< buckets of gradients, which run behind the backward pass
  c10::intrusive_ptr<ProcessGroup> small;  ///< what a step waits for: in `sums` it would queue behind the buckets
};

/// Waits for all ranks. Throws LostRankError when a rank does not connect within the options' limit, or when the store
/// or a group can't be opened.
ProcessGroups connect_ranks(const Launch& launch, const JoinOptions& options);

std::string host_name();

/// Of an exception's message: what follows is LibTorch's backtrace.
std::string first_line(const std::string& text);

}  // namespace lehi::distributed
