// torch's tensors on its stable ABI, as the kernels take them: pointers and sizes.
#pragma once

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/parallel.h"
#include "lehi/probe.h"

namespace lehi::python {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/// torch's threads for the kernels' loops.
kernels::ParallelFor torch_threads();

std::vector<std::int64_t> sizes_of(const Tensor& tensor);
std::vector<std::int64_t> strides_of(const Tensor& tensor);

/// "[64, 10]"
std::string text_of(const std::vector<std::int64_t>& sizes);

/// "float32", ...
std::string_view text_of(ScalarType type);

inline bool is_float32(const Tensor& tensor) { return tensor.scalar_type() == ScalarType::Float; }

/// True for float32 and float64.
bool has_kernel_type(const Tensor& tensor);

template <class T>
const T* read(const Tensor& tensor) {
  return static_cast<const T*>(tensor.const_data_ptr());
}

template <class T>
T* write(const Tensor& tensor) {
  return static_cast<T*>(tensor.mutable_data_ptr());
}

Tensor as_contiguous(const Tensor& tensor);
Tensor new_tensor(const std::vector<std::int64_t>& sizes, ScalarType type);

/// [seed, step, first_row, stream]
RandomKey key_from(const std::vector<std::int64_t>& list);

}  // namespace lehi::python
