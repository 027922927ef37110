// The instruction set that the hot loops run with on this machine.
#pragma once

#include <cstdint>

namespace lehi::kernels {

/// x86-64's levels: baseline has SSE2, v3 AVX2 and FMA, v4 AVX-512. Baseline on every other processor.
enum class Level : std::uint8_t { baseline, v3, v4 };

/// The highest one that this processor has, or the one that the loops were compiled for (LEHI_LEVEL, in tests only).
Level loop_level();

}  // namespace lehi::kernels
