// Llama-3: RMSNorm, rotary positions with Llama-3's scaling of the low frequencies, grouped-query attention, SwiGLU,
// head tied to the embedding. Parameters have the names and layouts of Hugging Face's LlamaForCausalLM (matrices are
// [out, in]). Predictions are the hidden values after the last norm, [rows, tokens, width]; head() is the embedding.
#pragma once

#include <memory>

#include "model/network.h"

namespace lehi::model {

/// How low rotary frequencies are reduced, for contexts longer than the one that the model was first trained on.
struct RotaryScaling {
  double factor = 32.0;         ///< 1: no scaling
  double low_frequency = 1.0;   ///< with fewer periods in the original context, a frequency is divided by factor
  double high_frequency = 4.0;  ///< with more, it stays; between the two it is interpolated
  std::int64_t original_context = 8192;
};

/// The defaults are Llama-3.2-1B: 1,235,814,400 parameters.
struct LlamaShape {
  std::int64_t vocabulary = 128256;
  std::int64_t context = 131072;
  std::int64_t width = 2048;
  std::int64_t layers = 16;
  std::int64_t heads = 32;
  std::int64_t key_heads = 8;  ///< of keys and values; heads is a multiple of it
  std::int64_t inner = 8192;   ///< width of the feed-forward part
  double rotary_base = 500'000.0;
  RotaryScaling scaling = {};
  double dropout = 0.0;  ///< of the embedding, the attention weights and each branch's output
};

std::vector<ParameterShape> llama_parameters(const LlamaShape& shape);

/// Initial weights as in Hugging Face's implementation: normal with standard deviation 0.02, norms 1. recompute: see
/// chain.h.
std::unique_ptr<Network> make_llama(const LlamaShape& shape, std::uint64_t seed, bool recompute = false,
                                    torch::Dtype dtype = torch::kFloat32);

/// The frequency, in radians a position, of each of the head_width / 2 rotated pairs.
std::vector<double> rotary_frequencies(std::int64_t head_width, double base, const RotaryScaling& scaling);

}  // namespace lehi::model
