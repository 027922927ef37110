// Where the ranks of a launch meet: c10d's store, a table of keys and values that one process serves to all.
#pragma once

#include <chrono>
#include <memory>

#include "distributed/launch.h"

namespace c10d {
class Store;
}

namespace lehi::distributed {

/// Opens the store at the launch's address; rank 0 serves it unless the launcher does. Keys are this attempt's own.
/// Throws std::runtime_error with a sentence when nobody serves it within `limit`.
std::shared_ptr<c10d::Store> meet_at_store(const Launch& launch, std::chrono::milliseconds limit);

}  // namespace lehi::distributed
