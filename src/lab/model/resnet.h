// ResNet for small images (K. He, X. Zhang, S. Ren, J. Sun, "Deep residual learning for image recognition", CVPR 2016):
//
//   h = relu(bn(conv 3x3))                                      the stem, of stride 1 and without pooling
//   h = relu(bn2(conv2(relu(bn1(conv1(h))))) + shortcut(h))     a block; two a stage
//   predictions = linear(mean over pixels of h)
//
// Stages have w, 2w, 4w and 8w channels, and all but the first begin with stride 2; there the shortcut is a 1x1
// convolution with batch normalisation, elsewhere the identity. With the defaults this is the ResNet-18 that is trained
// on CIFAR (11,173,962 weights), and its tensors have torchvision's names. It differs from torchvision's resnet18 in
// the stem only, which there is for images of 224 pixels: 7x7 of stride 2, then pooling.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/network.h"

namespace lehi::model {

struct ResNetShape {
  std::int64_t classes = 10;
  std::int64_t width = 64;                          ///< channels of the first stage
  std::vector<std::int64_t> blocks = {2, 2, 2, 2};  ///< in each stage; one to four stages
};

/// Throws std::invalid_argument for an invalid shape.
std::vector<ParameterShape> resnet_parameters(const ResNetShape& shape);

/// Inputs are [rows, 3, height, width] of `dtype`, float32 or float64. Initial weights are torchvision's: convolutions
/// from He's normal distribution with fan-out, the linear layer from torch's uniform distribution, scales 1 and shifts
/// 0. They are drawn as float32 from a generator with this seed. Batch normalisation is torch's: momentum 0.1, eps
/// 1e-5, unbiased running variance. recompute: see chain.h.
std::unique_ptr<Network> make_resnet(const ResNetShape& shape, std::uint64_t seed, bool recompute = false,
                                     torch::Dtype dtype = torch::kFloat32);

}  // namespace lehi::model
