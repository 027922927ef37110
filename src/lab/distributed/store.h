// Where the ranks of a launch meet: c10d's store, a table of keys and values that one process serves to all.
#pragma once

#include <chrono>
#include <memory>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "distributed/launch.h"

namespace lehi::distributed {

/// The store at the launch's address; with `serve` it is this process that serves it. Keys are this attempt's own.
/// Throws what c10d does when nobody serves it within `limit`.
c10::intrusive_ptr<c10d::Store> open_store(const Launch& launch, bool serve, std::chrono::milliseconds limit);

/// The same as a pointer of the standard's.
std::shared_ptr<c10d::Store> shared_store(c10::intrusive_ptr<c10d::Store> store);

/// Opens the store, which rank 0 serves unless the launcher does. std::runtime_error with a sentence when it can't.
std::shared_ptr<c10d::Store> meet_at_store(const Launch& launch, std::chrono::milliseconds limit);

}  // namespace lehi::distributed
