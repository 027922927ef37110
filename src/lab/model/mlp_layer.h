// The products of a multilayer perceptron's layers, forward and backward: by BLAS where that is as fast, elsewhere by
// the loops of mlp_kernels.h, shared between threads.
//
// The backward pass takes several cotangents at once. `deltas` are the cotangents of a layer's outputs, side by side:
// [rows, cotangents * out]. T is float or double.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

namespace lehi::model {

/// outputs = inputs W^T + b, followed by ReLU if asked for.
void run_layer(const torch::Tensor& inputs, const torch::Tensor& weight, const torch::Tensor& bias, bool relu,
               const torch::Tensor& outputs);

/// Cotangents [rows, columns] to deltas [rows, cotangents * columns].
template <class T>
void concatenate_columns(const std::vector<torch::Tensor>& cotangents, const torch::Tensor& deltas);

/// The gradients of a layer's weight, [cotangents * out, in]. `activations` are the layer's outputs if it has a ReLU,
/// else nullptr.
template <class T>
void weight_gradients(std::int64_t rows, std::int64_t in, std::int64_t out, std::int64_t cotangents,
                      const T* activations, const T* deltas, const T* inputs, T* result);

/// The cotangents of a layer's inputs, deltas W: [rows, in] from [rows, out]. With several cotangents side by side,
/// `rows` counts each of them.
template <class T>
void input_cotangents(std::int64_t rows, std::int64_t in, std::int64_t out, const T* deltas, const T* weight,
                      T* result);

}  // namespace lehi::model
