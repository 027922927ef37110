// IDX, the file format of MNIST: two zero bytes, a type, the number of dimensions, each dimension as a big-endian
// 32-bit number, then the values. Only unsigned bytes (type 8) are supported. The files may be gzipped.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>

namespace lehi::data {

/// The file's values as a uint8 tensor of `dimensions` dimensions (3 for images, 1 for labels). Throws DataError if the
/// sizes in the header do not match the size of the file; this is checked before anything is allocated.
torch::Tensor read_idx(const std::filesystem::path& file, int dimensions);

}  // namespace lehi::data
