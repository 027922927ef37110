// The hot loops of a multilayer perceptron: a matrix product for the sizes that small networks have, and the passes
// over activations between the products.
//
// BLAS packs both factors and is made for large ones. Here one factor stays where it is, the other is packed into
// panels of a few vectors, and a tile of the result lives in registers. Each entry is a sum of its own, in the order of
// the inner index or of eight lanes of it, so a row's result does not depend on how many rows there are, nor a column's
// on how many columns, as long as parts begin at a multiple of `column_unit`: parts of a result can go to threads.
#pragma once

#include <cstdint>
#include <functional>

namespace lehi::model {

/// Where entry (i, j) of a matrix is: data[i * row + j * column].
template <class T>
struct Matrix {
  const T* data = nullptr;
  std::int64_t row = 0;
  std::int64_t column = 1;
};

/// Rows that every tile has.
constexpr std::int64_t row_unit = 4;
/// A vector of the widest kind.
constexpr std::int64_t column_unit = 16;

/// part(begin, end) of 0..count, by as many threads as there are, each with `grain` or more of it.
void in_parallel(std::int64_t count, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& part);

/// result[m * result_row + n] = sum over k of left(m, k) right(k, n).
template <class T>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result,
              std::int64_t result_row);

/// The weight gradients of a layer with ReLU for two cotangents at once: result[c, j, n] = sum of deltas[i, c, j]
/// inputs[i, n] over the rows i in which unit j is active, activations[i, j] > 0. The others, half of them in an
/// ordinary network, are passed over. `columns` of inputs and result, whose rows are `row` long.
template <class T>
void multiply_active(std::int64_t rows, std::int64_t units, std::int64_t columns, std::int64_t row,
                     const T* activations, const T* deltas, const T* inputs, T* result);

/// values[i, j] += bias[j] and, if asked for, max(0, .); NaN stays NaN.
template <class T>
void add_bias(std::int64_t rows, std::int64_t columns, const T* bias, bool relu, T* values);

/// The derivative of ReLU: deltas[i, c, j] = 0 where activations[i, j] is 0, for every c.
template <class T>
void mask(std::int64_t rows, std::int64_t copies, std::int64_t columns, const T* activations, T* deltas);

/// sums[j] = sum over i of values[i, j].
template <class T>
void column_sums(std::int64_t rows, std::int64_t columns, const T* values, T* sums);

}  // namespace lehi::model
