// Loops that move the bytes of an update or of a loss with hardly any arithmetic: a lower limit for the time of such a
// pass over memory. Plain C++ that the compiler vectorises, on all of LibTorch's threads.
#pragma once

#include <cstdint>

namespace lehi::bench {

/// Reads w, m, v, g and, if not null, s; writes w, m and v.
void stream_update(float* w, float* m, float* v, const float* g, const float* s, std::int64_t size);

/// Reads `in`, writes u and v.
void stream_loss(const float* in, float* u, float* v, std::int64_t size);

}  // namespace lehi::bench
