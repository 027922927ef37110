// Allocations that fail: allocations.cpp defines malloc and its family, which operator new, LibTorch's tensors, zlib
// and the rest use, and lets the n-th one find no memory. Not under sanitizers, whose own malloc can't be replaced.
#pragma once

#include <cstdint>

namespace lehi::faults {

/// From now on allocations are counted from 1, and number `at` fails (0: none); with `all_after` the later ones too.
void fail_allocation(std::int64_t at, bool all_after);

/// So many have been counted; none is any more.
std::int64_t stop_counting_allocations();

}  // namespace lehi::faults
