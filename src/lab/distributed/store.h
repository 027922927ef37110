// Where the ranks of a launch meet: c10d's store, a table of keys and values that one process serves to all.
#pragma once

#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "distributed/launch.h"

namespace lehi::distributed {

/// Connects to the store at the launch's address; with `serve` this process serves it. The keys have the attempt's
/// number as a prefix. Throws c10d's exception when no process serves the store within `limit`.
c10::intrusive_ptr<c10d::Store> open_store(const Launch& launch, bool serve, std::chrono::milliseconds limit);

/// The same store as a std::shared_ptr.
std::shared_ptr<c10d::Store> shared_store(c10::intrusive_ptr<c10d::Store> store);

/// Opens the store, which rank 0 serves unless the launcher does. Throws std::runtime_error with one sentence when it
/// can't.
std::shared_ptr<c10d::Store> meet_at_store(const Launch& launch, std::chrono::milliseconds limit);

}  // namespace lehi::distributed
