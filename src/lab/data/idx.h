// IDX, the format of MNIST: two zero bytes, a type, a number of dimensions, each dimension as a big-endian 32-bit
// count, then the values. Only unsigned bytes (type 8) are read; the files may be gzipped.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <filesystem>

namespace lehi::data {

/// The file's values as a uint8 tensor of `dimensions` dimensions (3 for images, 1 for labels). The sizes that the
/// header declares are compared with the bytes that are there before anything is allocated; throws DataError where they
/// differ.
torch::Tensor read_idx(const std::filesystem::path& file, int dimensions);

}  // namespace lehi::data
