// The instruction set of the hot loops on this machine.
#pragma once

#include <cstdint>

namespace lehi::kernels {

/// Levels of x86-64: baseline has SSE2, v3 has AVX2 and FMA, v4 has AVX-512. Other processors: baseline.
enum class Level : std::uint8_t { baseline, v3, v4 };

/// The highest level of this processor, or the one that the loops were compiled for (LEHI_LEVEL, in tests only).
Level loop_level();

}  // namespace lehi::kernels
