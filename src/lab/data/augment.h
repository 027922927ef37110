// Data augmentation for CIFAR, as in common use: a border of four pixels is added on each side, a window of the image's
// size is cut out at random, and half of the images are mirrored. This is torchvision's RandomCrop(32, padding=4) and
// RandomHorizontalFlip() before ToTensor() and Normalize(): the border is black, which is not zero after normalisation.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "data/dataset.h"

namespace lehi::data {

inline constexpr std::int64_t crop_border = 4;

/// The position of the window in the image with its border, and whether the window is mirrored.
struct Crop {
  std::int64_t down = crop_border;   ///< 0 to 8
  std::int64_t right = crop_border;  ///< 0 to 8
  bool flip = false;
};

/// A function of these three numbers only, so batches, threads and resuming a run do not change it. With
/// philox(counter, key) of kernels/philox.h:
///
///   key     the first two words of philox({epoch low, epoch high, 0, "crop"}, {seed low, seed high})
///   words   philox({row low, row high, 0, 0}, key)
///   down    words[0] * 9 / 2^32
///   right   words[1] * 9 / 2^32
///   flip    the lowest bit of words[2]
Crop crop_of(std::uint64_t seed, std::int64_t epoch, std::int64_t row);

/// Split::take_values() for colour images, each cropped by crop_of() its row: to = float32 [rows, channels, side,
/// side], allocated or resized as needed.
void take_crops(const Split& split, const torch::Tensor& index, std::uint64_t seed, std::int64_t epoch,
                torch::Tensor& to);

}  // namespace lehi::data
