#include "ops/update.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>

#include "ops/parallel.h"

namespace lehi::ops {
namespace {

// Same element order in memory, so that index i is the same weight in all of them (contiguous, or channels-last
// throughout).
bool fits(const torch::Tensor& tensor, const torch::Tensor& w, torch::Dtype dtype) {
  return !tensor.defined() ||
         (tensor.device().is_cpu() && tensor.layout() == torch::kStrided && tensor.scalar_type() == dtype &&
          tensor.sizes() == w.sizes() && tensor.strides() == w.strides() && !tensor.is_neg());
}

template <class T>
T* pointer_to(const torch::Tensor& tensor) {
  return tensor.defined() ? tensor.data_ptr<T>() : nullptr;
}

template <class T>
kernels::UpdateArrays<T> arrays_of(const UpdateTensors& t) {
  return {.w = pointer_to<T>(t.w),
          .g = pointer_to<T>(t.g),
          .s = pointer_to<T>(t.s),
          .m = pointer_to<T>(t.m),
          .v = pointer_to<T>(t.v),
          .v_max = pointer_to<T>(t.v_max),
          .size = t.w.numel()};
}

// `count` entries of a tensor from `begin` on as float32: as they are, or widened into `buffer`.
template <class Narrow>
const float* widened(const torch::Tensor& tensor, std::int64_t begin, std::int64_t count, float* buffer) {
  if (!tensor.defined()) return nullptr;
  if (tensor.scalar_type() == torch::kFloat32) return tensor.data_ptr<float>() + begin;
  const Narrow* values = tensor.data_ptr<Narrow>() + begin;
  for (std::int64_t i = 0; i < count; ++i) buffer[i] = static_cast<float>(values[i]);
  return buffer;
}

// The float32 kernel on one stretch of weights after another, each in the fast cache.
template <class Narrow>
void update_sixteen_bit(const UpdateTensors& t, const kernels::UpdateCoefficients& coefficients,
                        const WeightRounding& rounding) {
  constexpr std::int64_t grain = 1 << 14;
  constexpr std::int64_t stretch = 1 << 10;
  const auto state = [](const torch::Tensor& tensor, std::int64_t begin) {
    return tensor.defined() ? tensor.data_ptr<float>() + begin : nullptr;
  };
  auto* weights = t.w.data_ptr<Narrow>();
  at::parallel_for(0, t.w.numel(), grain, [&](std::int64_t first, std::int64_t last) {
    std::array<float, stretch> w = {};
    std::array<float, stretch> g = {};
    std::array<float, stretch> s = {};
    for (std::int64_t begin = first; begin < last; begin += stretch) {
      const std::int64_t count = std::min(stretch, last - begin);
      widened<Narrow>(t.w, begin, count, w.data());
      kernels::update({.w = w.data(),
                       .g = widened<Narrow>(t.g, begin, count, g.data()),
                       .s = widened<Narrow>(t.s, begin, count, s.data()),
                       .m = state(t.m, begin),
                       .v = state(t.v, begin),
                       .v_max = state(t.v_max, begin),
                       .size = count},
                      coefficients);
      store_rounded(w.data(), weights + begin, begin, count, rounding);
    }
  });
}

}  // namespace

bool can_fuse(const UpdateTensors& t) {
  const auto dtype = t.w.scalar_type();
  const bool narrow = is_sixteen_bit(dtype);
  if (!narrow && dtype != torch::kFloat32 && dtype != torch::kFloat64) return false;
  const auto state_fits = [&](const torch::Tensor& tensor) {
    return fits(tensor, t.w, narrow ? torch::kFloat32 : dtype);
  };
  const auto input_fits = [&](const torch::Tensor& tensor) { return fits(tensor, t.w, dtype) || state_fits(tensor); };
  return fits(t.w, t.w, dtype) && t.w.is_non_overlapping_and_dense() && input_fits(t.g) && input_fits(t.s) &&
         state_fits(t.m) && state_fits(t.v) && state_fits(t.v_max);
}

void update(const UpdateTensors& tensors, const kernels::UpdateCoefficients& coefficients,
            const WeightRounding& rounding) {
  if (!can_fuse(tensors)) return update_plain(tensors, coefficients, rounding);
  switch (tensors.w.scalar_type()) {
    case torch::kFloat32:
      return kernels::update(arrays_of<float>(tensors), coefficients, at_parallel_for());
    case torch::kFloat64:
      return kernels::update(arrays_of<double>(tensors), coefficients, at_parallel_for());
    case torch::kBFloat16:
      return update_sixteen_bit<c10::BFloat16>(tensors, coefficients, rounding);
    default:
      return update_sixteen_bit<c10::Half>(tensors, coefficients, rounding);
  }
}

}  // namespace lehi::ops
