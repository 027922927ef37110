// The hot loops of a multilayer perceptron: a matrix product for the sizes that small networks have, and the passes
// over activations between the products.
//
// BLAS packs both factors and is optimised for large ones. Here one factor is read where it is, the other is packed
// into panels of a few vectors, and a tile of the result stays in registers. Each entry is a sum of its own, in the
// order of the inner index or of eight lanes of it. So a row's result does not depend on the number of rows, nor a
// column's on the number of columns, as long as parts begin at a multiple of `column_unit`: threads can compute parts
// of a result.
#pragma once

#include <cstdint>
#include <functional>

namespace lehi::model {

/// A matrix with entry (i, j) at data[i * row + j * column].
template <class T>
struct Matrix {
  const T* data = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 1;
};

/// Rows that every instruction set's tiles have at least: parts of a result begin at a multiple of it.
constexpr std::int64_t row_unit = 4;
/// Columns in a vector of the widest instruction set.
constexpr std::int64_t column_unit = 16;

/// Calls part(begin, end) for parts of 0..count on LibTorch's threads, each with at least `grain`.
void in_parallel(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& part);

/// result[m * result_row + n] = sum over k of left(m, k) right(k, n).
template <class T>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result,
              std::int64_t result_row);

/// The weight gradients of a layer with ReLU for two cotangents at once: result[c, j, n] = sum of deltas[i, c, j]
/// inputs[i, n] over the rows i in which unit j is active, activations[i, j] > 0. The other rows, often half of them,
/// are skipped. `columns` is the number of columns of inputs and result; their rows are `row` entries apart.
template <class T>
void multiply_active(std::int64_t rows, std::int64_t units, std::int64_t columns, std::int64_t row,
                     const T* activations, const T* deltas, const T* inputs, T* result);

/// values[i, j] += bias[j], then max(0, .) with `relu`. NaN stays NaN.
template <class T>
void add_bias(std::int64_t rows, std::int64_t columns, const T* bias, bool relu, T* values);

/// The backward pass of ReLU: deltas[i, c, j] = 0 where activations[i, j] is 0, for every c.
template <class T>
void mask(std::int64_t rows, std::int64_t copies, std::int64_t columns, const T* activations, T* deltas);

/// sums[j] = sum over i of values[i, j].
template <class T>
void column_sums(std::int64_t rows, std::int64_t columns, const T* values, T* sums);

}  // namespace lehi::model
