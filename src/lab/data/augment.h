// Images changed on the way into a batch, as everyone trains on CIFAR: four pixels of border are added on each side, a
// window of the image's size is cut out at random, and every other one is mirrored. torchvision's RandomCrop(32,
// padding=4) and RandomHorizontalFlip(), before ToTensor() and Normalize(): the border is black, not zero.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "data/dataset.h"

namespace lehi::data {

inline constexpr std::int64_t crop_border = 4;

/// Where the window lies in the image with its border, and whether it is mirrored.
struct Crop {
  std::int64_t down = crop_border;   ///< 0 to 8
  std::int64_t right = crop_border;  ///< 0 to 8
  bool flip = false;
};

/// A function of these three numbers alone, so that batches, threads and resuming do not change it. With
/// philox(counter, key) of kernels/philox.h:
///
///   key     the first two words of philox({epoch low, epoch high, 0, "crop"}, {seed low, seed high})
///   words   philox({row low, row high, 0, 0}, key): down and right are words 0 and 1 times 9 / 2^32, flip is the
///   lowest
///           bit of word 2
Crop crop_of(std::uint64_t seed, std::int64_t epoch, std::int64_t row);

/// Split::take_values() of images, each cropped by crop_of() its index: to = float32 [rows, channels, side, side], made
/// or resized as needed.
void take_crops(const Split& split, const torch::Tensor& index, std::uint64_t seed, std::int64_t epoch,
                torch::Tensor& to);

}  // namespace lehi::data
