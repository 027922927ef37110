// GPT-2: learned positions, pre-LayerNorm blocks, GELU (tanh form), head tied to the embedding. Parameters have the
// names and layouts of Hugging Face's `gpt2` (matrices are [in, out]). Predictions are the hidden values after the last
// LayerNorm, [rows, tokens, width]; head() is the embedding, for lehi::LinearCrossEntropy.
#pragma once

#include <memory>

#include "model/network.h"

namespace lehi::model {

/// The defaults are GPT-2 small: 124,439,808 parameters.
struct Gpt2Shape {
  std::int64_t vocabulary = 50257;
  std::int64_t context = 1024;
  std::int64_t width = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  double dropout = 0.0;  ///< of the embedding, the attention weights and each branch's output
};

std::vector<ParameterShape> gpt2_parameters(const Gpt2Shape& shape);

/// Initial weights as OpenAI's: normal with standard deviation 0.02, divided by sqrt(2 layers) for the last matrix of
/// each branch; biases 0. recompute: see chain.h.
std::unique_ptr<Network> make_gpt2(const Gpt2Shape& shape, std::uint64_t seed, bool recompute = false,
                                   torch::Dtype dtype = torch::kFloat32);

}  // namespace lehi::model
