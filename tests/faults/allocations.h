// Allocations that fail: allocations.cpp replaces malloc and its family, which operator new, LibTorch's tensors and all
// libraries use, and makes the n-th call fail. Not under sanitizers, whose own malloc can't be replaced.
#pragma once

#include <cstdint>

namespace lehi::faults {

/// Starts counting allocations, from 1. Number `at` fails (0: none); with `all_after` all later ones fail too.
void fail_allocation(std::int64_t at, bool all_after);

/// Stops counting and returns the count.
std::int64_t stop_counting_allocations();

}  // namespace lehi::faults
