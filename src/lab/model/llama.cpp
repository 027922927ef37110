#include "model/llama.h"

#include <torch/torch.h>

#include <cmath>
#include <numbers>

#include "layers/activation.h"
#include "layers/attention.h"
#include "layers/rotation.h"
#include "model/transformer.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

constexpr double llama_norm_eps = 1e-5;
constexpr double llama_std = 0.02;
// The dropout sites of a block.
constexpr std::uint32_t llama_sites = 3;

struct LlamaBlock {
  Norm norm1;
  Linear query, key, value, out;
  Norm norm2;
  Linear gate, up, down;
  layers::AttentionShape shape;  // rows and tokens are those of the batch, set by each pass
  std::shared_ptr<layers::RotationTable> table;
  double dropout = 0.0;
  std::uint32_t first_site = 0;
};

// Backward pass of several linear maps of one input: the sum of their cotangents of it.
Tensor pull_back_together(const std::vector<std::pair<const Linear*, Tensor>>& maps, const Tensor& input,
                          const Differentiable::Deliver& deliver) {
  Tensor to = torch::empty({maps.front().second.size(0), input.size(1)}, input.options());
  bool add = false;
  for (const auto& [map, cotangents] : maps) {
    map->pull_back_input(cotangents, to, add);
    map->pull_back_parameters(input, cotangents, deliver);
    add = true;
  }
  return to;
}

SegmentPass forward_llama_block(const LlamaBlock& block, const Tensor& input, const Pass& pass) {
  layers::AttentionShape shape = block.shape;
  shape.rows = input.size(0);
  shape.tokens = input.size(1);
  const Tensor x = input.reshape({-1, input.size(2)});
  const auto drop = [&](std::uint32_t site) { return dropout_at(block.dropout, pass, block.first_site + site); };
  const auto angles = block.table->angles(shape.tokens, x.scalar_type());

  const auto [normed, statistics] = block.norm1.run(x);
  layers::AttentionInputs parts = {block.query.run(normed), block.key.run(normed), block.value.run(normed)};
  rotate(parts.queries, angles, shape.tokens, layers::Rotation::forward);
  rotate(parts.keys, angles, shape.tokens, layers::Rotation::forward);
  const layers::Dropout attention_drop = drop(0);
  const layers::AttentionResult attended = attend(shape, parts, attention_drop);
  const BranchSum middle = add_branch(x, block.out, attended.values, drop(1), shape.rows);
  const auto [inner, inner_statistics] = block.norm2.run(middle.output);
  const Tensor gate = block.gate.run(inner);
  const Tensor up = block.up.run(inner);
  const BranchSum end = add_branch(middle.output, block.down, layers::gated_silu(gate, up), drop(2), shape.rows);

  // Normalised values and activations are recomputed: beside the products that costs little.
  auto pull_back = [=, statistics = statistics, inner_statistics = inner_statistics, gate_slope = gate, up_slope = up,
                    end_mask = end.mask](const std::vector<Tensor>& cotangents,
                                         const Differentiable::Deliver& deliver) mutable {
    Tensor to = stacked(cotangents, x.size(1));
    const Tensor gated = layers::gated_silu_and_slopes(gate_slope, up_slope);
    const Tensor hidden = pull_back_branch(block.down, gated, end_mask, to, deliver);
    const Tensor inner_back = pull_back_together(
        {{&block.gate, layers::times_slope(hidden, gate_slope)}, {&block.up, layers::times_slope(hidden, up_slope)}},
        block.norm2.recompute(middle.output, inner_statistics), deliver);
    block.norm2.pull_back(middle.output, inner_statistics, inner_back, to, deliver);
    const Tensor mixed = pull_back_branch(block.out, attended.values, middle.mask, to, deliver);
    const auto empty_like_part = [&](const Tensor& part) {
      return torch::empty({mixed.size(0), part.size(1)}, part.options());
    };
    layers::AttentionInputs back = {empty_like_part(parts.queries), empty_like_part(parts.keys),
                                    empty_like_part(parts.values)};
    pull_back_attend(shape, parts, attended.log_normaliser, attention_drop, mixed, back);
    rotate(back.queries, angles, shape.tokens, layers::Rotation::backward);
    rotate(back.keys, angles, shape.tokens, layers::Rotation::backward);
    const Tensor normed_back =
        pull_back_together({{&block.query, back.queries}, {&block.key, back.keys}, {&block.value, back.values}},
                           block.norm1.recompute(x, statistics), deliver);
    block.norm1.pull_back(x, statistics, normed_back, to, deliver);
    return unstacked(to, {shape.rows, shape.tokens, x.size(1)});
  };
  return {end.output.view(input.sizes()), pull_back};
}

void check_llama(const LlamaShape& shape) {
  for (const std::int64_t size :
       {shape.vocabulary, shape.context, shape.width, shape.layers, shape.heads, shape.key_heads, shape.inner}) {
    if (size >= 1) continue;
    throw_invalid_argument(
        "a Llama of vocabulary {}, context {}, width {}, {} layers, {} heads, {} key heads and inner width {}: each "
        "must be at least 1",
        shape.vocabulary, shape.context, shape.width, shape.layers, shape.heads, shape.key_heads, shape.inner);
  }
  if (shape.width % (2 * shape.heads) != 0) {
    throw_invalid_argument(
        "a Llama of width {} can't have {} heads: the width must be an even multiple of the number of heads",
        shape.width, shape.heads);
  }
  if (shape.heads % shape.key_heads != 0) {
    throw_invalid_argument(
        "a Llama of {} heads can't have {} key heads: the number of heads must be a multiple of the key heads",
        shape.heads, shape.key_heads);
  }
  if (!(shape.dropout >= 0.0 && shape.dropout < 1.0))
    throw_invalid_argument("dropout is {}; expected a number of at least 0 and below 1", shape.dropout);
}

}  // namespace

std::vector<double> rotary_frequencies(std::int64_t head_width, double base, const RotaryScaling& scaling) {
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < head_width; i += 2) {
    const double plain = std::pow(base, -static_cast<double>(i) / static_cast<double>(head_width));
    const double periods = static_cast<double>(scaling.original_context) * plain / (2.0 * std::numbers::pi);
    // 1 where the wavelength is short enough for the frequency to stay, 0 where it is divided by the whole factor.
    const double kept =
        std::clamp((periods - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency), 0.0, 1.0);
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
  parts.parameters =
      make_parameters(llama_parameters(shape), seed, dtype, [](const std::string& name) -> InitialValues {
        if (name.find("norm") != std::string::npos) return {.constant = 1.0};
        return {.std = llama_std};
      });
  const auto parameter = [&](const std::string& name) { return parts.parameters[name]; };

  const Tensor tokens = parameter("model.embed_tokens.weight");
  parts.segments.push_back({[shape, tokens](const Tensor& inputs, const Pass& pass) {
                              return dropout(embed(tokens, inputs, shape.context), shape.dropout, pass, 0);
                            },
                            {tokens}});
  const auto table = std::make_shared<layers::RotationTable>(
      rotary_frequencies(shape.width / shape.heads, shape.rotary_base, shape.scaling));
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto own = [&](std::string_view name) {
      return parameter(fmt::format("model.layers.{}.{}.weight", layer, name));
    };
    const auto norm = [&](std::string_view name) -> Norm { return {.weight = own(name), .eps = llama_norm_eps}; };
    const auto linear = [&](std::string_view name) -> Linear { return {.weight = own(name), .out_in = true}; };
    const LlamaBlock block = {
        .norm1 = norm("input_layernorm"),
        .query = linear("self_attn.q_proj"),
        .key = linear("self_attn.k_proj"),
        .value = linear("self_attn.v_proj"),
        .out = linear("self_attn.o_proj"),
        .norm2 = norm("post_attention_layernorm"),
        .gate = linear("mlp.gate_proj"),
        .up = linear("mlp.up_proj"),
        .down = linear("mlp.down_proj"),
        .shape = {.heads = shape.heads, .groups = shape.key_heads, .width = shape.width / shape.heads},
        .table = table,
        .dropout = shape.dropout,
        .first_site = 1 + static_cast<std::uint32_t>(layer) * llama_sites,
    };
    parts.segments.push_back(
        {.forward = [block](const Tensor& x, const Pass& pass) { return forward_llama_block(block, x, pass); }});
  }
  parts.segments.push_back(norm_segment({.weight = parameter("model.norm.weight"), .eps = llama_norm_eps}));
  parts.head = tokens;
  return std::make_unique<Chain>(std::move(parts), recompute);
}

}  // namespace lehi::model
