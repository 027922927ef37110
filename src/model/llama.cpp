#include "model/llama.h"

#include <torch/torch.h>

#include <cmath>
#include <numbers>

#include "model/transformer.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

constexpr double llama_norm_eps = 1e-5;
constexpr double llama_start = 0.02;
// Each block has three places that drop values out.
constexpr std::uint32_t llama_sites = 3;

struct LlamaBlock {
  Tensor norm1, query, key, value, out;
  Tensor norm2, gate, up, down;

  std::vector<Tensor> all() const { return {norm1, query, key, value, out, norm2, gate, up, down}; }
};

Tensor rms_norm(const Tensor& x, const Tensor& weight) {
  return x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + llama_norm_eps) * weight;
}

Tensor linear_out_in(const Tensor& x, const Tensor& weight) {
  return torch::mm(x.reshape({-1, x.size(-1)}), weight.t()).view({x.size(0), x.size(1), -1});
}

// Cosines and sines of every position, [tokens, head width / 2]; computed in float64, so that late positions are exact.
struct Rotation {
  Tensor cosine;
  Tensor sine;
};

Rotation rotation(const LlamaShape& shape, std::int64_t tokens, torch::Dtype dtype) {
  const auto frequencies =
      torch::tensor(rotary_frequencies(shape.width / shape.heads, shape.rotary_base, shape.scaling), torch::kFloat64);
  const Tensor angles = torch::outer(torch::arange(tokens, torch::kFloat64), frequencies);
  return {angles.cos().to(dtype), angles.sin().to(dtype)};
}

// [rows, heads, tokens, width]: entry i of the first half turns with entry i of the second.
Tensor rotated(const Tensor& x, const Rotation& by) {
  const auto halves = x.chunk(2, -1);
  return torch::cat({halves[0] * by.cosine - halves[1] * by.sine, halves[1] * by.cosine + halves[0] * by.sine}, -1);
}

Tensor run_llama_block(const LlamaBlock& block, const LlamaShape& shape, const Tensor& input, const Pass& pass,
                       std::uint32_t first_site) {
  const auto heads_of = [&](const Tensor& x, const Tensor& weight, std::int64_t heads) {
    return linear_out_in(x, weight).view({x.size(0), x.size(1), heads, shape.width / shape.heads}).transpose(1, 2);
  };
  const Tensor normed = rms_norm(input, block.norm1);
  const Rotation turn = rotation(shape, input.size(1), input.scalar_type());
  const Tensor attended =
      causal_attention(rotated(heads_of(normed, block.query, shape.heads), turn),
                       rotated(heads_of(normed, block.key, shape.key_heads), turn),
                       heads_of(normed, block.value, shape.key_heads), shape.dropout, pass, first_site);
  const Tensor x = input + dropout(linear_out_in(attended, block.out), shape.dropout, pass, first_site + 1);
  const Tensor inner = rms_norm(x, block.norm2);
  const Tensor gated = torch::silu(linear_out_in(inner, block.gate)) * linear_out_in(inner, block.up);
  return x + dropout(linear_out_in(gated, block.down), shape.dropout, pass, first_site + 2);
}

void check_llama(const LlamaShape& shape) {
  for (const std::int64_t size :
       {shape.vocabulary, shape.context, shape.width, shape.layers, shape.heads, shape.key_heads, shape.inner}) {
    if (size >= 1) continue;
    refuse(
        "a Llama of vocabulary {}, context {}, width {}, {} layers, {} heads, {} key heads and inner width {}: each "
        "must be 1 or above",
        shape.vocabulary, shape.context, shape.width, shape.layers, shape.heads, shape.key_heads, shape.inner);
  }
  if (shape.width % (2 * shape.heads) != 0) {
    refuse("a Llama of width {} can't have {} heads: the width must be an even multiple of them", shape.width,
           shape.heads);
  }
  if (shape.heads % shape.key_heads != 0) {
    refuse("a Llama of {} heads can't have {} key heads: the heads must be a multiple of them", shape.heads,
           shape.key_heads);
  }
  if (!(shape.dropout >= 0.0 && shape.dropout < 1.0)) refuse("dropout is {}, but must be in [0, 1)", shape.dropout);
}

}  // namespace

std::vector<double> rotary_frequencies(std::int64_t head_width, double base, const RotaryScaling& scaling) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < head_width; i += 2) {
    const double plain = std::pow(base, -static_cast<double>(i) / static_cast<double>(head_width));
    const double waves = static_cast<double>(scaling.original_context) * plain / (2.0 * std::numbers::pi);
    // 1 where the wave is short enough to be left alone, 0 where it is slowed down by the whole factor.
    const double kept =
        std::clamp((waves - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency), 0.0, 1.0);
    frequencies.push_back((1.0 - kept) * plain / scaling.factor + kept * plain);
  }
  return frequencies;
}

std::vector<ParameterShape> llama_parameters(const LlamaShape& shape) {
  check_llama(shape);
  const std::int64_t width = shape.width;
  const std::int64_t key_width = width / shape.heads * shape.key_heads;
  std::vector<ParameterShape> shapes = {{"model.embed_tokens.weight", {shape.vocabulary, width}}};
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto add = [&](std::string_view name, std::vector<std::int64_t> sizes) {
      shapes.push_back({fmt::format("model.layers.{}.{}.weight", layer, name), std::move(sizes)});
    };
    add("input_layernorm", {width});
    add("self_attn.q_proj", {width, width});
    add("self_attn.k_proj", {key_width, width});
    add("self_attn.v_proj", {key_width, width});
    add("self_attn.o_proj", {width, width});
    add("post_attention_layernorm", {width});
    add("mlp.gate_proj", {shape.inner, width});
    add("mlp.up_proj", {shape.inner, width});
    add("mlp.down_proj", {width, shape.inner});
  }
  shapes.push_back({"model.norm.weight", {width}});
  return shapes;
}

std::unique_ptr<Network> make_llama(const LlamaShape& shape, std::uint64_t seed, bool recompute, torch::Dtype dtype) {
  Chain::Parts parts;
  parts.parameters = make_parameters(llama_parameters(shape), seed, dtype, [](const std::string& name) -> Start {
    if (name.find("norm") != std::string::npos) return {.constant = 1.0};
    return {.std = llama_start};
  });
  const auto parameter = [&](const std::string& name) { return parts.parameters[name]; };

  const Tensor tokens = parameter("model.embed_tokens.weight");
  parts.segments.push_back({[shape, tokens](const Tensor& inputs, const Pass& pass) {
                              return dropout(embedded(tokens, inputs, shape.context), shape.dropout, pass, 0);
                            },
                            {tokens}});
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto own = [&](std::string_view name) {
      return parameter(fmt::format("model.layers.{}.{}.weight", layer, name));
    };
    const LlamaBlock block = {own("input_layernorm"),  own("self_attn.q_proj"), own("self_attn.k_proj"),
                              own("self_attn.v_proj"), own("self_attn.o_proj"), own("post_attention_layernorm"),
                              own("mlp.gate_proj"),    own("mlp.up_proj"),      own("mlp.down_proj")};
    const std::uint32_t first_site = 1 + static_cast<std::uint32_t>(layer) * llama_sites;
    parts.segments.push_back({[block, shape, first_site](const Tensor& x, const Pass& pass) {
                                return run_llama_block(block, shape, x, pass, first_site);
                              },
                              block.all()});
  }
  const Tensor weight = parameter("model.norm.weight");
  parts.segments.push_back({[weight](const Tensor& x, const Pass&) { return rms_norm(x, weight); }, {weight}});
  parts.head = tokens;
  return std::make_unique<Chain>(std::move(parts), recompute);
}

}  // namespace lehi::model
