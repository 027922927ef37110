// What the language models share: how their weights are made, causal attention, dropout.
#pragma once

#include <functional>

#include "model/chain.h"

namespace lehi::model {

/// How a parameter starts: normal with this standard deviation around 0, or `constant` everywhere where it is 0.
struct Start {
  double std = 0.0;
  double constant = 0.0;
};

/// The parameters of a list, drawn in its order from one generator of their own. float64 ones are the float32 numbers.
NamedTensors make_parameters(const std::vector<ParameterShape>& shapes, std::uint64_t seed, torch::Dtype dtype,
                             const std::function<Start(const std::string& name)>& start);

/// Attention of every position to itself and those before it. queries [B, G * g, T, d], keys and values [B, G, T, d]:
/// g queries share one key and value. Returns [B, T, G * g * d].
torch::Tensor causal_attention(const torch::Tensor& queries, const torch::Tensor& keys, const torch::Tensor& values,
                               double dropout, const Pass& pass, std::uint32_t site);

/// values * mask / (1 - probability); the mask of a row depends on the pass's key, the row's global index, the site and
/// the place in the row alone. The values themselves outside training.
torch::Tensor dropout(const torch::Tensor& values, double probability, const Pass& pass, std::uint32_t site);

/// The rows of `weight` [vocabulary, width] that the tokens name; its gradient is sparse. Throws std::invalid_argument
/// unless inputs are int64 [rows, tokens] with at most `context` tokens, each below the vocabulary.
torch::Tensor embedded(const torch::Tensor& weight, const torch::Tensor& inputs, std::int64_t context);

}  // namespace lehi::model
