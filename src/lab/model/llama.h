// Llama-3: RMSNorm, rotary positions with Llama-3's scaling of the low frequencies, grouped-query attention, SwiGLU,
// the head tied to the embedding. Parameters have the names and layouts of Hugging Face's LlamaForCausalLM (matrices
// are [out, in]). The predictions are the hidden values after the last norm, [rows, tokens, width]; head() is the
// embedding.
#pragma once

#include <memory>

#include "model/network.h"

namespace lehi::model {

/// How the rotary frequencies of long waves are slowed down for contexts longer than the model was first trained on.
struct RotaryScaling {
  double factor = 32.0;         ///< 1: no scaling
  double low_frequency = 1.0;   ///< waves that fit less often into the original context are slowed down by factor
  double high_frequency = 4.0;  ///< those that fit more often are left alone; between, a mixture
  std::int64_t original_context = 8192;
};

/// The defaults are Llama-3.2-1B: 1,235,814,400 parameters.
struct LlamaShape {
  std::int64_t vocabulary = 128256;
  std::int64_t context = 131072;
  std::int64_t width = 2048;
  std::int64_t layers = 16;
  std::int64_t heads = 32;
  std::int64_t key_heads = 8;  ///< keys and values; heads is a multiple of it
  std::int64_t inner = 8192;   ///< width of the feed-forward part
  double rotary_base = 500'000.0;
  RotaryScaling scaling = {};
  double dropout = 0.0;  ///< of the embedding, the attention's weights and each branch's result
};

std::vector<ParameterShape> llama_parameters(const LlamaShape& shape);

/// Weights as in Hugging Face's implementation: normal with 0.02, norms 1.
std::unique_ptr<Network> make_llama(const LlamaShape& shape, std::uint64_t seed, bool recompute = false,
                                    torch::Dtype dtype = torch::kFloat32);

/// The angle, in radians a position, of each of the head_width / 2 rotating pairs.
std::vector<double> rotary_frequencies(std::int64_t head_width, double base, const RotaryScaling& scaling);

}  // namespace lehi::model
