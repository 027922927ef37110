#include "model/mlp_layer.h"

#include <algorithm>

#include "model/mlp_kernels.h"

namespace lehi::model {

using torch::Tensor;

namespace {

// From this many multiplications on, BLAS is as fast and uses every thread. The choice depends on shapes only, so that
// a smaller network has the same bits on any number of threads; BLAS does not guarantee that.
constexpr std::int64_t blas_work = std::int64_t{1} << 26;
// Multiplications worth waking a thread for: they take ten times as long as waking it.
constexpr std::int64_t thread_work = std::int64_t{1} << 18;
// With fewer inputs, skipping inactive rows saves less than it costs.
constexpr std::int64_t few_inputs = 32;

template <class T>
Tensor as_tensor(std::int64_t rows, std::int64_t columns, Matrix<T> matrix) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): from_blob() has no form for const; a factor is only read
  return torch::from_blob(const_cast<T*>(matrix.data), {rows, columns}, {matrix.row, matrix.column},
                          c10::CppTypeToScalarType<T>::value);
}

// Computes the product by BLAS where that is as fast; otherwise returns false.
template <class T>
bool multiply_by_blas(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right,
                      T* result) {
  if (rows * columns * inner < blas_work) return false;
  Tensor out = as_tensor<T>(rows, columns, {result, columns, 1});
  at::mm_out(out, as_tensor(rows, inner, left), as_tensor(inner, columns, right));
  return true;
}

// Calls part(begin, end) for parts of `count` rows or columns, on several threads. A part begins at a multiple of
// `unit`; each row or column takes `work` multiplications.
template <class Part>
void in_parts(std::int64_t count, std::int64_t unit, std::int64_t work, const Part& part) {
  const std::int64_t units = (count + unit - 1) / unit;
  const std::int64_t grain = std::max<std::int64_t>(1, thread_work / std::max<std::int64_t>(1, unit * work));
  if (units <= grain) return part(std::int64_t{0}, count);
  in_parallel(units, grain,
              [&](std::int64_t begin, std::int64_t end) { part(begin * unit, std::min(count, end * unit)); });
}

// result = left right; calls finish(begin, end) for rows that are complete.
template <class T, class Finish>
void product(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result,
             const Finish& finish) {
  if (multiply_by_blas(rows, columns, inner, left, right, result)) return finish(std::int64_t{0}, rows);
  in_parts(rows, row_unit, columns * inner, [&](std::int64_t begin, std::int64_t end) {
    const Matrix<T> part = {left.data + begin * left.row, left.row, left.column};
    multiply(end - begin, columns, inner, part, right, result + begin * columns, columns);
    finish(begin, end);
  });
}

template <class T>
void run_layer_of(const Tensor& inputs, const Tensor& weight, const Tensor& bias, bool relu, const Tensor& outputs) {
  const std::int64_t in = weight.size(1);
  const std::int64_t out = weight.size(0);
  T* values = outputs.data_ptr<T>();
  product<T>(inputs.size(0), out, in, {inputs.data_ptr<T>(), in, 1}, {weight.data_ptr<T>(), 1, in}, values,
             [&](std::int64_t begin, std::int64_t end) {
               add_bias<T>(end - begin, out, bias.data_ptr<T>(), relu, values + begin * out);
             });
}

}  // namespace

void run_layer(const Tensor& inputs, const Tensor& weight, const Tensor& bias, bool relu, const Tensor& outputs) {
  if (weight.scalar_type() == torch::kFloat32) return run_layer_of<float>(inputs, weight, bias, relu, outputs);
  run_layer_of<double>(inputs, weight, bias, relu, outputs);
}

template <class T>
void concatenate_columns(const std::vector<Tensor>& cotangents, const Tensor& deltas) {
  const std::int64_t rows = cotangents.front().size(0);
  const std::int64_t columns = cotangents.front().size(1);
  T* to = deltas.data_ptr<T>();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const Tensor& cotangent : cotangents) to = std::copy_n(cotangent.data_ptr<T>() + i * columns, columns, to);
  }
}

template <class T>
void weight_gradients(std::int64_t rows, std::int64_t in, std::int64_t out, std::int64_t cotangents,
                      const T* activations, const T* deltas, const T* inputs, T* result) {
  const std::int64_t all = cotangents * out;
  const std::int64_t work = all * rows;
  if (cotangents == 2 && activations != nullptr && in >= few_inputs && work * in < blas_work) {
    in_parts(in, column_unit, work / 2, [&](std::int64_t begin, std::int64_t end) {
      multiply_active<T>(rows, out, end - begin, in, activations, deltas, inputs + begin, result + begin);
    });
    return;
  }
  if (multiply_by_blas<T>(all, in, rows, {deltas, 1, all}, {inputs, in, 1}, result)) return;
  in_parts(in, column_unit, work, [&](std::int64_t begin, std::int64_t end) {
    multiply<T>(all, end - begin, rows, {deltas, 1, all}, {inputs + begin, in, 1}, result + begin, in);
  });
}

template <class T>
void input_cotangents(std::int64_t rows, std::int64_t in, std::int64_t out, const T* deltas, const T* weight,
                      T* result) {
  product<T>(rows, in, out, {deltas, out, 1}, {weight, in, 1}, result, [](std::int64_t, std::int64_t) {});
}

template void concatenate_columns<float>(const std::vector<Tensor>&, const Tensor&);
template void concatenate_columns<double>(const std::vector<Tensor>&, const Tensor&);
template void weight_gradients(std::int64_t, std::int64_t, std::int64_t, std::int64_t, const float*, const float*,
                               const float*, float*);
template void weight_gradients(std::int64_t, std::int64_t, std::int64_t, std::int64_t, const double*, const double*,
                               const double*, double*);
template void input_cotangents(std::int64_t, std::int64_t, std::int64_t, const float*, const float*, float*);
template void input_cotangents(std::int64_t, std::int64_t, std::int64_t, const double*, const double*, double*);

}  // namespace lehi::model
