// Rotary position embedding: rotates entry i of a head's first half with entry i of its second half, by the token's
// position times the frequency of i. Rotations are orthogonal, so the backward pass rotates the other way.
#pragma once

#include <torch/types.h>

#include <vector>

namespace lehi::layers {

/// A cache of cosines and sines by position, shared by all blocks of a model. Computed in float64 and then rounded to
/// the dtype, so that large positions lose no accuracy.
class RotationTable {
 public:
  explicit RotationTable(std::vector<double> frequencies) : frequencies_(std::move(frequencies)) {}

  struct Angles {
    torch::Tensor cosine;  ///< [at least `tokens`, head width / 2]
    torch::Tensor sine;
  };
  /// Extends the table where it is too short.
  const Angles& angles(std::int64_t tokens, torch::Dtype dtype);

 private:
  std::vector<double> frequencies_;
  Angles angles_;
};

enum class Rotation { forward, backward };

/// Rotates every head of [rows * tokens, heads * width] in place; row i is at position i modulo `tokens`.
void rotate(torch::Tensor& values, const RotationTable::Angles& angles, std::int64_t tokens, Rotation direction);

}  // namespace lehi::layers
