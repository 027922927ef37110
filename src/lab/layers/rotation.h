// Rotary positions: entry i of the first half of a head turns with entry i of the second, by the token's position times
// the frequency of i. Orthogonal, so the pull-back turns the other way.
#pragma once

#include <torch/types.h>

#include <vector>

namespace lehi::layers {

/// Cosines and sines of every position so far asked for, one table for all blocks of a model. In float64 until rounded
/// to the dtype, so that late positions are exact.
class RotationTable {
 public:
  explicit RotationTable(std::vector<double> frequencies) : frequencies_(std::move(frequencies)) {}

  struct Angles {
    torch::Tensor cosine;  ///< [at least `tokens`, head width / 2]
    torch::Tensor sine;
  };
  const Angles& angles(std::int64_t tokens, torch::Dtype dtype);

 private:
  std::vector<double> frequencies_;
  Angles angles_;
};

enum class Turn { forwards, backwards };

/// Turns every head of [rows * tokens, heads * width] in place; row i is at position i modulo `tokens`.
void rotate(torch::Tensor& values, const RotationTable::Angles& angles, std::int64_t tokens, Turn turn);

}  // namespace lehi::layers
