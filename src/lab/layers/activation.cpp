#include "layers/activation.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "kernels/vector_math.h"
#include "layers/dispatch.h"

namespace lehi::layers {

using torch::Tensor;

namespace {

constexpr std::int64_t activation_grain = 1 << 14;

template <class T, bool with_slope>
LEHI_CLONES void gelu_range(T* x, T* y, std::int64_t begin, std::int64_t end) {
  constexpr T root = T(0.79788456080286535588);  // sqrt(2 / pi)
  constexpr T cubic = T(0.044715);
  constexpr T largest = T(1e6);  // of x^2: s has rounded to 0 or 1 long before, and 0 times infinity must not arise
#pragma GCC ivdep                // x and y are different tensors
  for (std::int64_t i = begin; i < end; ++i) {
    const T value = x[i];
    const T square = std::min(value * value, largest);
    const T s = kernels::sigmoid(T(2) * root * value * (T(1) + cubic * square));
    y[i] = value * s;
    if constexpr (with_slope) {
      x[i] = s + value * s * (T(1) - s) * (T(2) * root) * (T(1) + T(3) * cubic * square);
    }
  }
}

template <class T, bool with_slopes>
LEHI_CLONES void gated_range(T* gate, T* up, T* y, std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep  // three different tensors
  for (std::int64_t i = begin; i < end; ++i) {
    const T value = gate[i];
    const T s = kernels::sigmoid(value);
    const T silu = value * s;
    y[i] = silu * up[i];
    if constexpr (with_slopes) {
      gate[i] = up[i] * (s + silu * (T(1) - s));
      up[i] = silu;
    }
  }
}

template <bool with_slope>
Tensor run_gelu(const Tensor& x) {
  Tensor y = torch::empty_like(x);
  by_dtype(x, [&]<class T>(T) {
    at::parallel_for(0, x.numel(), activation_grain, [&](std::int64_t begin, std::int64_t end) {
      gelu_range<T, with_slope>(x.data_ptr<T>(), y.data_ptr<T>(), begin, end);
    });
  });
  return y;
}

template <bool with_slopes>
Tensor run_gated(const Tensor& gate, const Tensor& up) {
  Tensor y = torch::empty_like(gate);
  by_dtype(gate, [&]<class T>(T) {
    at::parallel_for(0, gate.numel(), activation_grain, [&](std::int64_t begin, std::int64_t end) {
      gated_range<T, with_slopes>(gate.data_ptr<T>(), up.data_ptr<T>(), y.data_ptr<T>(), begin, end);
    });
  });
  return y;
}

template <class T>
LEHI_CLONES void multiply_range(const T* cotangents, const T* slope, T* out, std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep  // out is either cotangents or does not overlap it
  for (std::int64_t i = begin; i < end; ++i) out[i] = cotangents[i] * slope[i];
}

void multiply(const Tensor& cotangents, const Tensor& slope, const Tensor& out) {
  const std::int64_t size = slope.numel();
  const std::int64_t count = cotangents.numel() / size;
  by_dtype(slope, [&]<class T>(T) {
    for (std::int64_t c = 0; c < count; ++c) {
      const T* from = cotangents.data_ptr<T>() + c * size;
      T* to = out.data_ptr<T>() + c * size;
      at::parallel_for(0, size, activation_grain, [&](std::int64_t begin, std::int64_t end) {
        multiply_range<T>(from, slope.data_ptr<T>(), to, begin, end);
      });
    }
  });
}

}  // namespace

Tensor gelu(const Tensor& x) { return run_gelu<false>(x); }
Tensor gelu_and_slope(Tensor& x) { return run_gelu<true>(x); }
Tensor gated_silu(const Tensor& gate, const Tensor& up) { return run_gated<false>(gate, up); }
Tensor gated_silu_and_slopes(Tensor& gate, Tensor& up) { return run_gated<true>(gate, up); }

void multiply_by_slope(Tensor& cotangents, const Tensor& slope) { multiply(cotangents, slope, cotangents); }

Tensor times_slope(const Tensor& cotangents, const Tensor& slope) {
  Tensor out = torch::empty_like(cotangents);
  multiply(cotangents, slope, out);
  return out;
}

}  // namespace lehi::layers
