// The weight update of one parameter: kernels/update.h for tensors, and the same in ATen operations.
#pragma once

#include <torch/types.h>

#include "kernels/update.h"
#include "ops/rounding.h"

namespace lehi::ops {

/// One parameter and its state. s is read only by a feed that uses the probe; m, v and v_max may be undefined where the
/// form does not use them. w, m, v and v_max are changed in place; g and s never are.
struct UpdateTensors {
  torch::Tensor w;
  torch::Tensor g;
  torch::Tensor s;
  torch::Tensor m;
  torch::Tensor v;
  torch::Tensor v_max;
};

/// Runs the kernel if can_fuse(), else update_plain(). `rounding` is that of 16-bit weights.
void update(const UpdateTensors& tensors, const kernels::UpdateCoefficients& coefficients,
            const WeightRounding& rounding = {});

/// True for dense CPU tensors with the same memory order and dtype: float32 or float64, or 16-bit w, g and s (each of
/// these two may be float32 too) with float32 state.
bool can_fuse(const UpdateTensors& tensors);

/// The same in ATen operations: the reference, and the path of all other devices, layouts and dtypes. State is computed
/// in the dtype of m and v (at least float32); w is rounded to its own dtype at the end.
void update_plain(const UpdateTensors& tensors, const kernels::UpdateCoefficients& coefficients,
                  const WeightRounding& rounding = {});

}  // namespace lehi::ops
