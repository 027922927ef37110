#include "model/resnet_parameters.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

constexpr std::size_t max_stages = 4;

void check_resnet(const ResNetShape& shape) {
  const auto below_one = [](std::int64_t value) { return value < 1; };
  if (shape.blocks.empty() || shape.blocks.size() > max_stages || below_one(shape.classes) || below_one(shape.width) ||
      std::any_of(shape.blocks.begin(), shape.blocks.end(), below_one)) {
    throw_invalid_argument(
        "a ResNet of {} classes, width {} and [{}] blocks: expected one to {} stages, and each number at least 1",
        shape.classes, shape.width, fmt::join(shape.blocks, ", "), max_stages);
  }
}

}  // namespace

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

NamedParameters draw_resnet(const std::vector<ParameterShape>& shapes, std::uint64_t seed, torch::Dtype dtype) {
  auto generator = at::detail::createCPUGenerator(seed);
  NamedParameters parameters;
  double fan_in = 1;  // of the linear layer, whose weight comes before its bias
  for (const auto& [name, sizes] : shapes) {
    const Tensor values = torch::zeros(sizes, torch::kFloat32);
    if (sizes.size() == 4) {  // a convolution
      const auto fan_out = static_cast<double>(sizes[0] * sizes[2] * sizes[3]);
      values.normal_(0, std::sqrt(2.0) / std::sqrt(fan_out), generator);
    } else if (name.starts_with("fc.")) {
      if (sizes.size() == 2) fan_in = static_cast<double>(sizes[1]);
      values.uniform_(-1 / std::sqrt(fan_in), 1 / std::sqrt(fan_in), generator);
    } else if (name.ends_with(".weight")) {  // of a batch normalisation, whose bias stays 0
      values.fill_(1);
    }
    parameters.insert(name, values.to(dtype));
  }
  return parameters;
}

}  // namespace lehi::model
