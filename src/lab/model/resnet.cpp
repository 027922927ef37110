#include "model/resnet.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/chain.h"
#include "model/shared_batch_norm.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

constexpr std::int64_t resnet_channels = 3;
constexpr std::size_t most_stages = 4;

struct BlockShape {
  std::string name;  // "layer2.0"
  std::int64_t in;
  std::int64_t out;
  std::int64_t stride;

  bool projects() const { return stride != 1 || in != out; }
};

void check_resnet(const ResNetShape& shape) {
  const auto below_one = [](std::int64_t value) { return value < 1; };
  if (shape.blocks.empty() || shape.blocks.size() > most_stages || below_one(shape.classes) || below_one(shape.width) ||
      std::any_of(shape.blocks.begin(), shape.blocks.end(), below_one)) {
    throw_invalid_argument(
        "a ResNet of {} classes, width {} and [{}] blocks: expected one to {} stages, and each number 1 or above",
        shape.classes, shape.width, fmt::join(shape.blocks, ", "), most_stages);
  }
}

std::vector<BlockShape> resnet_blocks(const ResNetShape& shape) {
  check_resnet(shape);
  std::vector<BlockShape> blocks;
  std::int64_t in = shape.width;
  for (std::size_t stage = 0; stage < shape.blocks.size(); ++stage) {
    const std::int64_t out = shape.width << stage;
    for (std::int64_t i = 0; i < shape.blocks[stage]; ++i) {
      blocks.push_back({fmt::format("layer{}.{}", stage + 1, i), in, out, stage > 0 && i == 0 ? 2 : 1});
      in = out;
    }
  }
  return blocks;
}

// A convolution without bias and the batch normalisation after it.
struct Normed {
  Tensor kernel;
  Tensor scale;
  Tensor shift;
  Tensor running_mean;
  Tensor running_variance;
  std::int64_t stride;

  std::vector<Tensor> parameters() const { return {kernel, scale, shift}; }
};

Tensor run_normed(const Normed& layer, const Tensor& inputs, const Pass& pass) {
  constexpr double momentum = 0.1;
  constexpr double eps = 1e-5;
  const Tensor values = torch::conv2d(inputs, layer.kernel, {}, layer.stride, /*padding=*/layer.kernel.size(2) / 2);
  // Without running values the batch's are taken and nothing is kept.
  const bool running = !pass.again;
  const Tensor running_mean = running ? layer.running_mean : Tensor();
  const Tensor running_variance = running ? layer.running_variance : Tensor();
  if (pass.training && pass.ranks != nullptr) {
    return shared_batch_norm(values, layer.scale, layer.shift, running_mean, running_variance, momentum, eps,
                             *pass.ranks);
  }
  if (pass.training && values.numel() == values.size(1)) {
    throw_invalid_argument("batch normalisation can't train on one row of one pixel; use more rows or larger images");
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

// `projection` has one layer, or none where the shortcut is the identity.
Segment residual_segment(const Normed& first, const Normed& second, const std::vector<Normed>& projection) {
  Segment segment;
  segment.run = [=](const Tensor& inputs, const Pass& pass) {
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

// As torchvision initialises them, by the parameter's kind, which its dimensions and name tell.
NamedParameters draw_resnet(const std::vector<ParameterShape>& shapes, std::uint64_t seed, torch::Dtype dtype) {
  auto generator = at::detail::createCPUGenerator(seed);
  NamedParameters parameters;
  double fan_in = 1;  // of the linear layer, whose bias comes after its weight
  for (const auto& [name, sizes] : shapes) {
    const Tensor values = torch::zeros(sizes, torch::kFloat32);
    if (sizes.size() == 4) {
      const double fan_out = static_cast<double>(sizes[0] * sizes[2] * sizes[3]);
      values.normal_(0, std::sqrt(2.0) / std::sqrt(fan_out), generator);
    } else if (name.starts_with("fc.")) {
      if (sizes.size() == 2) fan_in = static_cast<double>(sizes[1]);
      values.uniform_(-1 / std::sqrt(fan_in), 1 / std::sqrt(fan_in), generator);
    } else if (name.ends_with(".weight")) {
      values.fill_(1);
    }
    parameters.insert(name, values.to(dtype));
  }
  return parameters;
}

// Adds the running values to the chain's buffers.
Normed normed_layer(Chain::Parts& parts, const std::string& convolution, const std::string& norm, std::int64_t stride) {
  const Tensor scale = parts.parameters[norm + ".weight"];
  const Tensor mean = parts.buffers.insert(norm + ".running_mean", torch::zeros_like(scale));
  const Tensor variance = parts.buffers.insert(norm + ".running_var", torch::ones_like(scale));
  return {parts.parameters[convolution + ".weight"], scale, parts.parameters[norm + ".bias"], mean, variance, stride};
}

}  // namespace

std::vector<ParameterShape> resnet_parameters(const ResNetShape& shape) {
  std::vector<ParameterShape> shapes;
  const auto add = [&](const std::string& convolution, const std::string& norm, std::int64_t in, std::int64_t out,
                       std::int64_t size) {
    shapes.push_back({convolution + ".weight", {out, in, size, size}});
    shapes.push_back({norm + ".weight", {out}});
    shapes.push_back({norm + ".bias", {out}});
  };
  const auto blocks = resnet_blocks(shape);
  add("conv1", "bn1", resnet_channels, shape.width, 3);
  for (const BlockShape& block : blocks) {
    add(block.name + ".conv1", block.name + ".bn1", block.in, block.out, 3);
    add(block.name + ".conv2", block.name + ".bn2", block.out, block.out, 3);
    if (block.projects()) add(block.name + ".downsample.0", block.name + ".downsample.1", block.in, block.out, 1);
  }
  shapes.push_back({"fc.weight", {shape.classes, blocks.back().out}});
  shapes.push_back({"fc.bias", {shape.classes}});
  return shapes;
}

std::unique_ptr<Network> make_resnet(const ResNetShape& shape, std::uint64_t seed, bool recompute, torch::Dtype dtype) {
  if (dtype != torch::kFloat32 && dtype != torch::kFloat64) {
    throw_invalid_argument("a ResNet of {}: expected float32 or float64", c10::toString(dtype));
  }
  Chain::Parts parts;
  parts.ranks_meet = true;  // for batch normalisation
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
