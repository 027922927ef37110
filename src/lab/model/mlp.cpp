#include "model/mlp.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/mlp_kernels.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

// From this many multiplications on BLAS is as fast, and uses every thread. A matter of shapes alone, so that a smaller
// network has the same bits on any number of threads; BLAS does not promise that.
constexpr std::int64_t blas_work = std::int64_t{1} << 26;
// Multiplications that are worth waking a thread for: ten times as long as that takes.
constexpr std::int64_t thread_work = std::int64_t{1} << 18;
// Below, passing over inactive rows saves less than it costs.
constexpr std::int64_t few_inputs = 32;

template <class T>
Tensor as_tensor(std::int64_t rows, std::int64_t columns, Matrix<T> matrix) {
  // from_blob() wants a pointer to change; nothing changes a factor.
  return torch::from_blob(const_cast<T*>(matrix.data), {rows, columns}, {matrix.row, matrix.column},
                          c10::CppTypeToScalarType<T>::value);
}

// The whole product by BLAS, where that is as fast; false elsewhere.
template <class T>
bool multiply_by_blas(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right,
                      T* result) {
  if (rows * columns * inner < blas_work) return false;
  Tensor out = as_tensor<T>(rows, columns, {result, columns, 1});
  at::mm_out(out, as_tensor(rows, inner, left), as_tensor(inner, columns, right));
  return true;
}

// part(begin, end) of `count` rows or columns, which are `unit` or a multiple of it but for the last, each `work`
// multiplications.
template <class Part>
void share(std::int64_t count, std::int64_t unit, std::int64_t work, const Part& part) {
  const std::int64_t units = (count + unit - 1) / unit;
  const std::int64_t grain = std::max<std::int64_t>(1, thread_work / std::max<std::int64_t>(1, unit * work));
  if (units <= grain) return part(std::int64_t{0}, count);
  in_parallel(units, grain,
              [&](std::int64_t begin, std::int64_t end) { part(begin * unit, std::min(count, end * unit)); });
}

// result = left right, and then finish(begin, end) of the rows that are there.
template <class T, class Finish>
void product(std::int64_t rows, std::int64_t columns, std::int64_t inner, Matrix<T> left, Matrix<T> right, T* result,
             const Finish& finish) {
  if (multiply_by_blas(rows, columns, inner, left, right, result)) return finish(std::int64_t{0}, rows);
  share(rows, row_unit, columns * inner, [&](std::int64_t begin, std::int64_t end) {
    const Matrix<T> part = {left.data + begin * left.row, left.row, left.column};
    multiply(end - begin, columns, inner, part, right, result + begin * columns, columns);
    finish(begin, end);
  });
}

// outputs = inputs W^T + b, then ReLU if asked for.
template <class T>
void run_layer(const Tensor& inputs, const Tensor& weight, const Tensor& bias, bool relu, const Tensor& outputs) {
  const std::int64_t in = weight.size(1);
  const std::int64_t out = weight.size(0);
  T* values = outputs.data_ptr<T>();
  product<T>(inputs.size(0), out, in, {inputs.data_ptr<T>(), in, 1}, {weight.data_ptr<T>(), 1, in}, values,
             [&](std::int64_t begin, std::int64_t end) {
               add_bias<T>(end - begin, out, bias.data_ptr<T>(), relu, values + begin * out);
             });
}

void run_layer(const Tensor& inputs, const Tensor& weight, const Tensor& bias, bool relu, const Tensor& outputs) {
  if (weight.scalar_type() == torch::kFloat32) return run_layer<float>(inputs, weight, bias, relu, outputs);
  run_layer<double>(inputs, weight, bias, relu, outputs);
}

// Rows of the first cotangent, then of the second, ...: [rows, cotangents * columns].
template <class T>
void put_side_by_side(const std::vector<Tensor>& cotangents, const Tensor& result) {
  const std::int64_t rows = cotangents.front().size(0);
  const std::int64_t columns = cotangents.front().size(1);
  T* to = result.data_ptr<T>();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (const Tensor& cotangent : cotangents) to = std::copy_n(cotangent.data_ptr<T>() + i * columns, columns, to);
  }
}

// The gradients of a layer's weights, [cotangents * out, in]. `activations`: the layer's own, if it has a ReLU.
template <class T>
void weight_gradients(std::int64_t rows, std::int64_t in, std::int64_t out, std::int64_t cotangents,
                      const T* activations, const T* deltas, const T* inputs, T* result) {
  const std::int64_t all = cotangents * out;
  const std::int64_t work = all * rows;
  if (cotangents == 2 && activations != nullptr && in >= few_inputs && work * in < blas_work) {
    share(in, column_unit, work / 2, [&](std::int64_t begin, std::int64_t end) {
      multiply_active<T>(rows, out, end - begin, in, activations, deltas, inputs + begin, result + begin);
    });
    return;
  }
  if (multiply_by_blas<T>(all, in, rows, {deltas, 1, all}, {inputs, in, 1}, result)) return;
  share(in, column_unit, work, [&](std::int64_t begin, std::int64_t end) {
    multiply<T>(all, end - begin, rows, {deltas, 1, all}, {inputs + begin, in, 1}, result + begin, in);
  });
}

}  // namespace

Mlp::Mlp(std::vector<std::int64_t> sizes, std::uint64_t seed, torch::Dtype dtype) {
  if (sizes.size() < 2 || std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 1; })) {
    throw_invalid_argument(
        "a multilayer perceptron of sizes [{}]: expected inputs, hidden layers and outputs, each 1 or above",
        fmt::join(sizes, ", "));
  }
  if (dtype != torch::kFloat32 && dtype != torch::kFloat64) {
    throw_invalid_argument("a multilayer perceptron of {}: expected float32 or float64", c10::toString(dtype));
  }
  const torch::NoGradGuard no_grad;
  auto generator = at::detail::createCPUGenerator(seed);
  const auto draw = [&](at::IntArrayRef shape, double bound) {
    return torch::empty(shape, torch::kFloat32).uniform_(-bound, bound, generator).to(dtype);
  };
  const auto shapes = mlp_parameters(sizes);
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    // As LibTorch computes it, rounding by rounding: Kaiming's uniform distribution with a slope of sqrt(5).
    const double fan_in = static_cast<double>(sizes[l]);
    const double gain = std::sqrt(2.0 / (1 + std::pow(std::sqrt(5.0), 2)));
    Layer layer;
    layer.weight = draw({sizes[l + 1], sizes[l]}, std::sqrt(3.0) * (gain / std::sqrt(fan_in)));
    layer.bias = draw({sizes[l + 1]}, 1 / std::sqrt(fan_in));
    parameters_.insert(shapes[2 * l].name, layer.weight);
    parameters_.insert(shapes[2 * l + 1].name, layer.bias);
    layer.outputs = torch::empty({0}, dtype);
    layer.deltas = torch::empty({0}, dtype);
    layers_.push_back(std::move(layer));
  }
}

std::vector<ParameterShape> mlp_parameters(const std::vector<std::int64_t>& sizes) {
  std::vector<ParameterShape> shapes;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    shapes.push_back({fmt::format("layers.{}.weight", l), {sizes[l + 1], sizes[l]}});
    shapes.push_back({fmt::format("layers.{}.bias", l), {sizes[l + 1]}});
  }
  return shapes;
}

Tensor Mlp::checked(const Tensor& inputs) const {
  if (!inputs.defined()) throw_invalid_argument("the inputs are an undefined tensor");
  const Tensor& first = layers_.front().weight;
  if (inputs.dim() != 2 || inputs.size(1) != first.size(1) || inputs.scalar_type() != first.scalar_type()) {
    throw_invalid_argument("the inputs are {} [{}]; expected {} [rows, {}]", c10::toString(inputs.scalar_type()),
                           fmt::join(inputs.sizes(), ", "), c10::toString(first.scalar_type()), first.size(1));
  }
  if (!inputs.is_cpu()) throw_invalid_argument("the inputs are on {}; expected them on the CPU", inputs.device().str());
  return inputs.detach().contiguous();
}

Differentiable Mlp::forward(const Tensor& inputs, const RandomKey& /*key*/) {
  const torch::NoGradGuard no_grad;
  inputs_ = checked(inputs);
  if (inputs_.size(0) == 0) return forward_of_no_rows();
  const Tensor* values = &inputs_;
  for (Layer& layer : layers_) {
    layer.outputs.resize_({inputs_.size(0), layer.weight.size(0)});
    run_layer(*values, layer.weight, layer.bias, &layer != &layers_.back(), layer.outputs);
    values = &layer.outputs;
  }
  return {layers_.back().outputs, [this](const Tensors& cotangents, const Differentiable::Deliver& deliver) {
            pull_back(cotangents, deliver);
          }};
}

Tensor Mlp::predict(const Tensor& inputs) const {
  const torch::NoGradGuard no_grad;
  Tensor values = checked(inputs);
  for (const Layer& layer : layers_) {
    Tensor outputs = torch::empty({values.size(0), layer.weight.size(0)}, values.options());
    run_layer(values, layer.weight, layer.bias, &layer != &layers_.back(), outputs);
    values = std::move(outputs);
  }
  return values;
}

// Buffers for this many cotangents; fewer use the first part of each.
void Mlp::make_room_for(std::size_t cotangents) {
  if (gradients_.size() >= cotangents) return;
  const auto count = static_cast<std::int64_t>(cotangents);
  gradients_.assign(cotangents, {});
  for (Layer& layer : layers_) {
    const std::int64_t out = layer.weight.size(0);
    layer.weight_gradients = torch::empty({count * out, layer.weight.size(1)}, layer.weight.options());
    layer.bias_gradients = torch::empty({count * out}, layer.bias.options());
    for (std::int64_t c = 0; c < count; ++c) {
      auto& own = gradients_[static_cast<std::size_t>(c)];
      own.push_back(layer.weight_gradients.narrow(0, c * out, out));
      own.push_back(layer.bias_gradients.narrow(0, c * out, out));
    }
  }
}

template <class T>
void Mlp::pull_back_through_layers(const Tensors& cotangents) {
  const std::int64_t rows = inputs_.size(0);
  const auto count = static_cast<std::int64_t>(cotangents.size());
  layers_.back().deltas.resize_({rows, count * layers_.back().weight.size(0)});
  put_side_by_side<T>(cotangents, layers_.back().deltas);
  for (std::size_t l = layers_.size(); l-- > 0;) {
    const Layer& layer = layers_[l];
    const Tensor& inputs = l > 0 ? layers_[l - 1].outputs : inputs_;
    const std::int64_t in = layer.weight.size(1);
    const std::int64_t out = layer.weight.size(0);
    const T* deltas = layer.deltas.data_ptr<T>();
    weight_gradients<T>(rows, in, out, count, l + 1 < layers_.size() ? layer.outputs.data_ptr<T>() : nullptr, deltas,
                        inputs.data_ptr<T>(), layer.weight_gradients.data_ptr<T>());
    column_sums<T>(rows, count * out, deltas, layer.bias_gradients.data_ptr<T>());
    if (l == 0) return;
    // Seen as [rows * cotangents, out], the deltas go through W in one product and come out side by side again.
    Layer& below = layers_[l - 1];
    below.deltas.resize_({rows, count * in});
    T* result = below.deltas.data_ptr<T>();
    const T* active = below.outputs.data_ptr<T>();
    product<T>(rows * count, in, out, {deltas, out, 1}, {layer.weight.data_ptr<T>(), in, 1}, result,
               [](std::int64_t, std::int64_t) {});
    mask<T>(rows, count, in, active, result);
  }
}

void Mlp::pull_back(const Tensors& cotangents, const Differentiable::Deliver& deliver) {
  const torch::NoGradGuard no_grad;
  const Tensor& predictions = layers_.back().outputs;
  Tensors contiguous;
  for (const Tensor& cotangent : cotangents) {
    if (cotangent.sizes() != predictions.sizes() || cotangent.scalar_type() != predictions.scalar_type()) {
      throw_invalid_argument("a cotangent is {} [{}]; expected {} [{}], as the predictions are",
                             c10::toString(cotangent.scalar_type()), fmt::join(cotangent.sizes(), ", "),
                             c10::toString(predictions.scalar_type()), fmt::join(predictions.sizes(), ", "));
    }
    contiguous.push_back(cotangent.contiguous());
  }
  if (cotangents.empty()) return;
  make_room_for(cotangents.size());
  if (predictions.scalar_type() == torch::kFloat32) {
    pull_back_through_layers<float>(contiguous);
  } else {
    pull_back_through_layers<double>(contiguous);
  }

  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensors pulled;
    for (std::size_t c = 0; c < cotangents.size(); ++c) pulled.push_back(gradients_[c][i]);
    deliver(parameters_[i].value(), pulled);
  }
}

}  // namespace lehi::model
