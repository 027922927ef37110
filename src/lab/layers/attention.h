// Causal attention: each position attends to itself and to the positions before it. Queries are processed in blocks,
// and neither scores nor weights are kept: the backward pass recomputes the weights from the log-normalisers.
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
  std::int64_t groups = 1;  ///< heads of keys and values; each serves heads / groups neighbouring heads of the queries
  std::int64_t width = 1;   ///< of a head
};

/// Q, K and V [rows * tokens, heads or groups * width]: matrices of their own or columns of one matrix (views with a
/// column stride of 1).
struct AttentionInputs {
  torch::Tensor queries;
  torch::Tensor keys;
  torch::Tensor values;
};

struct AttentionResult {
  torch::Tensor values;          ///< [rows * tokens, heads * width]
  torch::Tensor log_normaliser;  ///< [rows, heads, tokens]: log of the sum of the exponentials of a query's scores
};

AttentionResult attend(const AttentionShape& shape, const AttentionInputs& inputs, const Dropout& dropout);

/// Backward pass: from `count` cotangents of the values, [count * rows * tokens, heads * width], those of the inputs.
/// They overwrite `to`, whose tensors have the inputs' shapes with `count` times the rows.
void pull_back_attend(const AttentionShape& shape, const AttentionInputs& inputs, const torch::Tensor& log_normaliser,
                      const Dropout& dropout, const torch::Tensor& cotangents, const AttentionInputs& to);

}  // namespace lehi::layers
