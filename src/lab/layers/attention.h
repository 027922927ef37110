// Causal attention: every position mixes the values of itself and those before it. Neither the scores nor the weights
// are kept: a block of queries at a time, whose weights the pull-back computes again from the logarithms of their sums.
//
//   W = softmax(Q K^T / sqrt(d), above the diagonal -infinity),   out = (W * dropout) V     for every row and head
#pragma once

#include <torch/types.h>

#include "layers/dropout.h"

namespace lehi::layers {

struct AttentionShape {
  std::int64_t rows = 1;
  std::int64_t tokens = 1;
  std::int64_t heads = 1;   ///< of the queries
  std::int64_t groups = 1;  ///< heads of keys and values; each serves heads / groups queries, neighbours
  std::int64_t width = 1;   ///< of a head
};

/// Q, K and V [rows * tokens, heads or groups * width]: matrices or parts of the columns of one (views of unit column
/// stride).
struct AttentionInputs {
  torch::Tensor queries;
  torch::Tensor keys;
  torch::Tensor values;
};

struct Attended {
  torch::Tensor values;          ///< [rows * tokens, heads * width]
  torch::Tensor log_normaliser;  ///< [rows, heads, tokens]
};

Attended attend(const AttentionShape& shape, const AttentionInputs& inputs, const Dropout& dropout);

/// Pulls cotangents of the values, [count * rows * tokens, heads * width], back into `to`, whose tensors have the
/// inputs' shapes with `count` times the rows; what they held is overwritten.
void pull_back_attend(const AttentionShape& shape, const AttentionInputs& inputs, const torch::Tensor& log_normaliser,
                      const Dropout& dropout, const torch::Tensor& cotangents, const AttentionInputs& to);

}  // namespace lehi::layers
