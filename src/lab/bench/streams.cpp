// Compiled with the options of the kernels; see src/CMakeLists.txt.
#include "bench/streams.h"

#include <ATen/Parallel.h>

#include "kernels/vector_math.h"

namespace lehi::bench {
namespace {

constexpr std::int64_t stream_grain = 1 << 15;

LEHI_CLONES void stream_three(float* __restrict w, float* __restrict m, float* __restrict v, const float* __restrict g,
                              std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    w[i] += g[i];
    m[i] += g[i];
    v[i] += g[i];
  }
}

LEHI_CLONES void stream_three(float* __restrict w, float* __restrict m, float* __restrict v, const float* __restrict g,
                              const float* __restrict s, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    w[i] += g[i];
    m[i] += g[i];
    v[i] += s[i];
  }
}

LEHI_CLONES void stream_two(const float* __restrict in, float* __restrict u, float* __restrict v, std::int64_t begin,
                            std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    u[i] = in[i] + 1.0f;  // the compiler would make a plain copy a memcpy and read `in` twice
    v[i] = in[i] - 1.0f;
  }
}

}  // namespace

void stream_update(float* w, float* m, float* v, const float* g, const float* s, std::int64_t size) {
  at::parallel_for(0, size, stream_grain, [&](std::int64_t begin, std::int64_t end) {
    if (s == nullptr) {
      stream_three(w, m, v, g, begin, end);
    } else {
      stream_three(w, m, v, g, s, begin, end);
    }
  });
}

void stream_loss(const float* in, float* u, float* v, std::int64_t size) {
  at::parallel_for(0, size, stream_grain,
                   [&](std::int64_t begin, std::int64_t end) { stream_two(in, u, v, begin, end); });
}

}  // namespace lehi::bench
