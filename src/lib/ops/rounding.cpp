#include "ops/rounding.h"

#include <array>
#include <bit>
#include <cmath>

#include "kernels/draws.h"

namespace lehi::ops {
namespace {

// Rounds the magnitude down or up to a multiple of the last `bits` bits: adds random bits to them and cuts them off.
float cut_off(float value, std::uint32_t random, unsigned bits) {
  const std::uint32_t mask = (1U << bits) - 1;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + (random & mask)) & ~mask);
}

c10::BFloat16 rounded(float value, std::uint16_t random, c10::BFloat16 /*type*/) {
  if (!std::isfinite(value)) return static_cast<c10::BFloat16>(value);
  return static_cast<c10::BFloat16>(cut_off(value, random, 16));
}

c10::Half rounded(float value, std::uint16_t random, c10::Half /*type*/) {
  constexpr float smallest_normal = 0x1p-14F;
  constexpr float subnormal_unit = 0x1p-24F;
  if (!std::isfinite(value)) return static_cast<c10::Half>(value);
  const float magnitude = std::abs(value);
  if (magnitude >= smallest_normal) return static_cast<c10::Half>(cut_off(value, random, 13));
  const float units = magnitude / subnormal_unit;
  const float below = std::floor(units);
  const float up = static_cast<float>(random) < (units - below) * 0x1p16F ? 1.0F : 0.0F;
  return static_cast<c10::Half>(std::copysign((below + up) * subnormal_unit, value));
}

template <class Narrow>
void store_tensor(const torch::Tensor& weights, const torch::Tensor& values, const WeightRounding& rounding) {
  const auto on_cpu = weights.options().device(torch::kCPU).requires_grad(false);
  const auto like_weights = [&](torch::Dtype dtype) {
    return torch::empty_like(weights, on_cpu.dtype(dtype), torch::MemoryFormat::Preserve);
  };
  const torch::Tensor from = like_weights(torch::kFloat32).copy_(values);
  const torch::Tensor to = like_weights(weights.scalar_type());
  store_rounded(from.data_ptr<float>(), to.data_ptr<Narrow>(), 0, from.numel(), rounding);
  weights.copy_(to);
}

}  // namespace

bool is_sixteen_bit(torch::Dtype dtype) { return dtype == torch::kBFloat16 || dtype == torch::kFloat16; }

template <class Narrow>
void store_rounded(const float* values, Narrow* weights, std::int64_t begin, std::int64_t count,
                   const WeightRounding& rounding) {
  if (!rounding.stochastic) {
    for (std::int64_t i = 0; i < count; ++i) weights[i] = Narrow(values[i]);
    return;
  }
  const kernels::Draws draws(rounding.key);
  std::array<std::uint16_t, 8> random = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = rounding.first + begin + i;
    if (i == 0 || index % 8 == 0) random = draws.sixteen_bits(index / 8);
    weights[i] = rounded(values[i], random[static_cast<std::size_t>(index % 8)], Narrow());
  }
}

template void store_rounded(const float*, c10::BFloat16*, std::int64_t, std::int64_t, const WeightRounding&);
template void store_rounded(const float*, c10::Half*, std::int64_t, std::int64_t, const WeightRounding&);

void store_rounded(const torch::Tensor& weights, const torch::Tensor& values, const WeightRounding& rounding) {
  const torch::NoGradGuard no_grad;
  const auto dtype = weights.scalar_type();
  if (!rounding.stochastic || !is_sixteen_bit(dtype)) {
    weights.copy_(values);
  } else if (dtype == torch::kBFloat16) {
    store_tensor<c10::BFloat16>(weights, values, rounding);
  } else {
    store_tensor<c10::Half>(weights, values, rounding);
  }
}

}  // namespace lehi::ops
