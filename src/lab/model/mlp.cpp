#include "model/mlp.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/mlp_kernels.h"
#include "model/mlp_layer.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

Mlp::Mlp(const std::vector<std::int64_t>& sizes, std::uint64_t seed, torch::Dtype dtype) {
  if (sizes.size() < 2 || std::any_of(sizes.begin(), sizes.end(), [](std::int64_t size) { return size < 1; })) {
    throw_invalid_argument(
        "a multilayer perceptron of sizes [{}]: expected inputs, hidden layers and outputs, each at least 1",
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
    // Kaiming's uniform distribution with a slope of sqrt(5), in the order of LibTorch's operations for the same
    // rounding.
    const auto fan_in = static_cast<double>(sizes[l]);
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
  shapes.reserve(2 * sizes.size());
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    shapes.push_back({fmt::format("layers.{}.weight", l), {sizes[l + 1], sizes[l]}});
    shapes.push_back({fmt::format("layers.{}.bias", l), {sizes[l + 1]}});
  }
  return shapes;
}

Tensor Mlp::checked_inputs(const Tensor& inputs) const {
  if (!inputs.defined()) throw_invalid_argument("the inputs are an undefined tensor");
  const Tensor& first = layers_.front().weight;
  if (inputs.dim() != 2 || inputs.size(1) != first.size(1) || inputs.scalar_type() != first.scalar_type()) {
    throw_invalid_argument("the inputs are {} [{}]; expected {} [rows, {}]", c10::toString(inputs.scalar_type()),
                           fmt::join(inputs.sizes(), ", "), c10::toString(first.scalar_type()), first.size(1));
  }
  if (!inputs.is_cpu()) throw_invalid_argument("the inputs are on {}; expected the CPU", inputs.device().str());
  return inputs.detach().contiguous();
}

Differentiable Mlp::forward(const Tensor& inputs, const RandomKey& /*key*/) {
  const torch::NoGradGuard no_grad;
  inputs_ = checked_inputs(inputs);
  if (inputs_.size(0) == 0) return forward_without_rows();
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
  Tensor values = checked_inputs(inputs);
  for (const Layer& layer : layers_) {
    Tensor outputs = torch::empty({values.size(0), layer.weight.size(0)}, values.options());
    run_layer(values, layer.weight, layer.bias, &layer != &layers_.back(), outputs);
    values = std::move(outputs);
  }
  return values;
}

// Allocates buffers for this many cotangents; a pass with fewer uses the first part of each.
void Mlp::reserve_gradients(std::size_t cotangents) {
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
  concatenate_columns<T>(cotangents, layers_.back().deltas);
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
    // As a matrix [rows * cotangents, out], the deltas take one product, and its result is side by side again.
    Layer& below = layers_[l - 1];
    below.deltas.resize_({rows, count * in});
    T* result = below.deltas.data_ptr<T>();
    const T* active = below.outputs.data_ptr<T>();
    input_cotangents<T>(rows * count, in, out, deltas, layer.weight.data_ptr<T>(), result);
    mask<T>(rows, count, in, active, result);
  }
}

void Mlp::pull_back(const Tensors& cotangents, const Differentiable::Deliver& deliver) {
  const torch::NoGradGuard no_grad;
  const Tensor& predictions = layers_.back().outputs;
  Tensors contiguous;
  contiguous.reserve(cotangents.size());
  for (const Tensor& cotangent : cotangents) {
    if (cotangent.sizes() != predictions.sizes() || cotangent.scalar_type() != predictions.scalar_type()) {
      throw_invalid_argument("a cotangent is {} [{}]; expected {} [{}], like the predictions",
                             c10::toString(cotangent.scalar_type()), fmt::join(cotangent.sizes(), ", "),
                             c10::toString(predictions.scalar_type()), fmt::join(predictions.sizes(), ", "));
    }
    contiguous.push_back(cotangent.contiguous());
  }
  if (cotangents.empty()) return;
  reserve_gradients(cotangents.size());
  if (predictions.scalar_type() == torch::kFloat32) {
    pull_back_through_layers<float>(contiguous);
  } else {
    pull_back_through_layers<double>(contiguous);
  }

  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensors pulled;
    pulled.reserve(cotangents.size());
    for (std::size_t c = 0; c < cotangents.size(); ++c) pulled.push_back(gradients_[c][i]);
    deliver(parameters_[i].value(), pulled);
  }
}

}  // namespace lehi::model
