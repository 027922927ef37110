// Parts of the safetensors format that the reader and the writer share. For safetensors_*.cpp.
#pragma once

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace lehi::train {

static_assert(std::endian::native == std::endian::little, "the format stores little-endian numbers");

inline constexpr std::uint64_t kLargestHeader = 100'000'000;  ///< bytes, as in the reference implementation
inline constexpr const char* kMetadataKey = "__metadata__";

struct SafetensorsType {
  const char* name;
  torch::ScalarType scalar;
  std::int64_t bytes;
};

/// In the order in which tensors are written.
inline constexpr std::array kSafetensorsTypes = {
    SafetensorsType{"I64", torch::kInt64, 8},     SafetensorsType{"F64", torch::kFloat64, 8},
    SafetensorsType{"F32", torch::kFloat32, 4},   SafetensorsType{"I32", torch::kInt32, 4},
    SafetensorsType{"BF16", torch::kBFloat16, 2}, SafetensorsType{"F16", torch::kFloat16, 2},
    SafetensorsType{"U8", torch::kUInt8, 1},      SafetensorsType{"BOOL", torch::kBool, 1}};

/// nullptr for a type that the format does not have.
inline const SafetensorsType* safetensors_type(torch::ScalarType scalar) {
  const auto* found = std::find_if(kSafetensorsTypes.begin(), kSafetensorsTypes.end(),
                                   [&](const SafetensorsType& type) { return type.scalar == scalar; });
  return found == kSafetensorsTypes.end() ? nullptr : found;
}

}  // namespace lehi::train
