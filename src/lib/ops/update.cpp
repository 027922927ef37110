#include "ops/update.h"

#include "ops/parallel.h"

namespace lehi::ops {
namespace {

// Same element order in memory, so that index i is the same weight in all of them (contiguous, or channels-last
// throughout).
bool fits(const torch::Tensor& tensor, const torch::Tensor& w) {
  return !tensor.defined() ||
         (tensor.device().is_cpu() && tensor.layout() == torch::kStrided && tensor.scalar_type() == w.scalar_type() &&
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

}  // namespace

bool can_fuse(const UpdateTensors& t) {
  const auto dtype = t.w.scalar_type();
  return (dtype == torch::kFloat32 || dtype == torch::kFloat64) && fits(t.w, t.w) &&
         t.w.is_non_overlapping_and_dense() && fits(t.g, t.w) && fits(t.s, t.w) && fits(t.m, t.w) && fits(t.v, t.w) &&
         fits(t.v_max, t.w);
}

void update(const UpdateTensors& tensors, const kernels::UpdateCoefficients& coefficients) {
  if (!can_fuse(tensors)) return update_plain(tensors, coefficients);
  if (tensors.w.scalar_type() == torch::kFloat32) {
    kernels::update(arrays_of<float>(tensors), coefficients, at_parallel_for());
  } else {
    kernels::update(arrays_of<double>(tensors), coefficients, at_parallel_for());
  }
}

}  // namespace lehi::ops
