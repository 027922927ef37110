// A ResNet's blocks, and the names, shapes and initial values of its parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/network.h"
#include "model/resnet.h"

namespace lehi::model {

constexpr std::int64_t resnet_channels = 3;  ///< of the images

struct BlockShape {
  std::string name;  ///< "layer2.0"
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int64_t stride = 1;

  /// The shortcut is a convolution, not the identity.
  bool projects() const { return stride != 1 || in != out; }
};

/// Throws std::invalid_argument for an invalid shape.
std::vector<BlockShape> resnet_blocks(const ResNetShape& shape);

/// Initial values as torchvision's, drawn in the order of `shapes`.
NamedParameters draw_resnet(const std::vector<ParameterShape>& shapes, std::uint64_t seed, torch::Dtype dtype);

}  // namespace lehi::model
