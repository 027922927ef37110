#include "model/resnet.h"

#include <fmt/ranges.h>

#include <string>
#include <utility>

#include "model/chain.h"
#include "model/resnet_parameters.h"
#include "model/shared_batch_norm.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

// A convolution without bias and the batch normalisation after it.
struct Normed {
  Tensor kernel;
  Tensor scale;
  Tensor shift;
  Tensor running_mean;
  Tensor running_variance;
  std::int64_t stride = 1;

  std::vector<Tensor> parameters() const { return {kernel, scale, shift}; }
};

Tensor run_normed(const Normed& layer, const Tensor& inputs, const Pass& pass) {
  constexpr double momentum = 0.1;
  constexpr double eps = 1e-5;
  const Tensor values = torch::conv2d(inputs, layer.kernel, {}, layer.stride, /*padding=*/layer.kernel.size(2) / 2);
  // Without running tensors, the batch's statistics are used and nothing is updated.
  const bool running = !pass.recomputing;
  const Tensor running_mean = running ? layer.running_mean : Tensor();
  const Tensor running_variance = running ? layer.running_variance : Tensor();
  if (pass.training && pass.ranks != nullptr) {
    return shared_batch_norm(values, layer.scale, layer.shift, running_mean, running_variance, momentum, eps,
                             *pass.ranks);
  }
  if (pass.training && values.numel() == values.size(1)) {
    throw_invalid_argument(
        "batch normalisation can't train on a single row of one pixel: use more rows or larger images");
  }
  return torch::batch_norm(values, layer.scale, layer.shift, running_mean, running_variance, pass.training, momentum,
                           eps, /*cudnn_enabled=*/false);
}

void check_images(const Tensor& inputs, const Tensor& kernel) {
  if (!inputs.defined()) throw_invalid_argument("the inputs are an undefined tensor");
  if (inputs.dim() != 4 || inputs.size(1) != resnet_channels || inputs.scalar_type() != kernel.scalar_type()) {
    throw_invalid_argument("the inputs are {} [{}]; expected {} [rows, {}, height, width]",
                           c10::toString(inputs.scalar_type()), fmt::join(inputs.sizes(), ", "),
                           c10::toString(kernel.scalar_type()), resnet_channels);
  }
}

Segment stem_segment(const Normed& layer) {
  return {[layer](const Tensor& inputs, const Pass& pass) {
            check_images(inputs, layer.kernel);
            return run_normed(layer, inputs, pass).relu_();
          },
          layer.parameters()};
}

// `projection` is the shortcut's convolution; empty where the shortcut is the identity.
Segment residual_segment(const Normed& first, const Normed& second, const std::vector<Normed>& projection) {
  Segment segment;
  segment.run = [first = first, second = second, projection = projection](const Tensor& inputs, const Pass& pass) {
    Tensor shortcut = projection.empty() ? inputs : run_normed(projection.front(), inputs, pass);
    const Tensor hidden = run_normed(first, inputs, pass).relu_();
    return run_normed(second, hidden, pass).add_(shortcut).relu_();
  };
  for (const Normed& layer : {first, second}) {
    for (const Tensor& parameter : layer.parameters()) segment.parameters.push_back(parameter);
  }
  for (const Normed& layer : projection) {
    for (const Tensor& parameter : layer.parameters()) segment.parameters.push_back(parameter);
  }
  return segment;
}

Segment classifier_segment(const Tensor& weight, const Tensor& bias) {
  return {[=](const Tensor& inputs, const Pass&) {
            return torch::linear(inputs.mean({2, 3}), weight, bias);
          },
          {weight, bias}};
}

// Adds the running mean and variance to the buffers.
Normed normed_layer(Chain::Parts& parts, const std::string& convolution, const std::string& norm, std::int64_t stride) {
  const Tensor scale = parts.parameters[norm + ".weight"];
  const Tensor mean = parts.buffers.insert(norm + ".running_mean", torch::zeros_like(scale));
  const Tensor variance = parts.buffers.insert(norm + ".running_var", torch::ones_like(scale));
  return {parts.parameters[convolution + ".weight"], scale, parts.parameters[norm + ".bias"], mean, variance, stride};
}

}  // namespace

std::unique_ptr<Network> make_resnet(const ResNetShape& shape, std::uint64_t seed, bool recompute, torch::Dtype dtype) {
  if (dtype != torch::kFloat32 && dtype != torch::kFloat64) {
    throw_invalid_argument("a ResNet of {}: expected float32 or float64", c10::toString(dtype));
  }
  Chain::Parts parts;
  parts.needs_all_ranks = true;  // batch normalisation sums over them
  parts.parameters = draw_resnet(resnet_parameters(shape), seed, dtype);
  parts.segments.push_back(stem_segment(normed_layer(parts, "conv1", "bn1", 1)));
  for (const BlockShape& block : resnet_blocks(shape)) {
    const auto layer = [&](const char* convolution, const char* norm, std::int64_t stride) {
      return normed_layer(parts, block.name + convolution, block.name + norm, stride);
    };
    const Normed first = layer(".conv1", ".bn1", block.stride);
    const Normed second = layer(".conv2", ".bn2", 1);
    std::vector<Normed> projection;
    if (block.projects()) projection.push_back(layer(".downsample.0", ".downsample.1", block.stride));
    parts.segments.push_back(residual_segment(first, second, projection));
  }
  parts.segments.push_back(classifier_segment(parts.parameters["fc.weight"], parts.parameters["fc.bias"]));
  return std::make_unique<Chain>(std::move(parts), recompute);
}

}  // namespace lehi::model
