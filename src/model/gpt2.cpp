#include "model/gpt2.h"

#include <torch/torch.h>

#include <cmath>

#include "model/transformer.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

constexpr double gpt2_norm_eps = 1e-5;
constexpr double gpt2_start = 0.02;
// Each block has three places that drop values out.
constexpr std::uint32_t gpt2_sites = 3;

struct Gpt2Block {
  Tensor norm1_weight, norm1_bias, attention_weight, attention_bias, out_weight, out_bias;
  Tensor norm2_weight, norm2_bias, up_weight, up_bias, down_weight, down_bias;

  std::vector<Tensor> all() const {
    return {norm1_weight, norm1_bias, attention_weight, attention_bias, out_weight,  out_bias,
            norm2_weight, norm2_bias, up_weight,        up_bias,        down_weight, down_bias};
  }
};

// x [rows, tokens, in] times [in, out], plus bias.
Tensor linear_in_out(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return torch::addmm(bias, x.reshape({-1, x.size(-1)}), weight).view({x.size(0), x.size(1), -1});
}

Tensor gpt2_norm(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return torch::layer_norm(x, {x.size(-1)}, weight, bias, gpt2_norm_eps);
}

Tensor run_gpt2_block(const Gpt2Block& block, const Gpt2Shape& shape, const Tensor& input, const Pass& pass,
                      std::uint32_t first_site) {
  const std::int64_t rows = input.size(0);
  const std::int64_t tokens = input.size(1);
  const Tensor joined = linear_in_out(gpt2_norm(input, block.norm1_weight, block.norm1_bias), block.attention_weight,
                                      block.attention_bias)
                            .view({rows, tokens, 3, shape.heads, shape.width / shape.heads})
                            .permute({2, 0, 3, 1, 4});
  const Tensor attended = causal_attention(joined[0], joined[1], joined[2], shape.dropout, pass, first_site);
  const Tensor x =
      input + dropout(linear_in_out(attended, block.out_weight, block.out_bias), shape.dropout, pass, first_site + 1);
  const Tensor up = linear_in_out(gpt2_norm(x, block.norm2_weight, block.norm2_bias), block.up_weight, block.up_bias);
  const Tensor down = linear_in_out(torch::gelu(up, "tanh"), block.down_weight, block.down_bias);
  return x + dropout(down, shape.dropout, pass, first_site + 2);
}

void check_gpt2(const Gpt2Shape& shape) {
  for (const std::int64_t size : {shape.vocabulary, shape.context, shape.width, shape.layers, shape.heads}) {
    if (size >= 1) continue;
    refuse("a GPT-2 of vocabulary {}, context {}, width {}, {} layers and {} heads: each must be 1 or above",
           shape.vocabulary, shape.context, shape.width, shape.layers, shape.heads);
  }
  if (shape.width % shape.heads != 0) {
    refuse("a GPT-2 of width {} can't have {} heads: the width must be a multiple of them", shape.width, shape.heads);
  }
  if (!(shape.dropout >= 0.0 && shape.dropout < 1.0)) refuse("dropout is {}, but must be in [0, 1)", shape.dropout);
}

}  // namespace

std::vector<ParameterShape> gpt2_parameters(const Gpt2Shape& shape) {
  check_gpt2(shape);
  const std::int64_t width = shape.width;
  std::vector<ParameterShape> shapes = {{"wte.weight", {shape.vocabulary, width}},
                                        {"wpe.weight", {shape.context, width}}};
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto add = [&](std::string_view name, std::vector<std::int64_t> sizes) {
      shapes.push_back({fmt::format("h.{}.{}", layer, name), std::move(sizes)});
    };
    add("ln_1.weight", {width});
    add("ln_1.bias", {width});
    add("attn.c_attn.weight", {width, 3 * width});
    add("attn.c_attn.bias", {3 * width});
    add("attn.c_proj.weight", {width, width});
    add("attn.c_proj.bias", {width});
    add("ln_2.weight", {width});
    add("ln_2.bias", {width});
    add("mlp.c_fc.weight", {width, 4 * width});
    add("mlp.c_fc.bias", {4 * width});
    add("mlp.c_proj.weight", {4 * width, width});
    add("mlp.c_proj.bias", {width});
  }
  shapes.push_back({"ln_f.weight", {width}});
  shapes.push_back({"ln_f.bias", {width}});
  return shapes;
}

std::unique_ptr<Network> make_gpt2(const Gpt2Shape& shape, std::uint64_t seed, bool recompute, torch::Dtype dtype) {
  const double branch_end = gpt2_start / std::sqrt(2.0 * static_cast<double>(shape.layers));
  Chain::Parts parts;
  parts.parameters = make_parameters(gpt2_parameters(shape), seed, dtype, [&](const std::string& name) -> Start {
    if (name.find("ln_") != std::string::npos) return {.constant = name.ends_with("weight") ? 1.0 : 0.0};
    if (name.ends_with("bias")) return {};
    return {.std = name.ends_with("c_proj.weight") ? branch_end : gpt2_start};
  });
  const auto parameter = [&](const std::string& name) { return parts.parameters[name]; };

  const Tensor tokens = parameter("wte.weight");
  const Tensor positions = parameter("wpe.weight");
  parts.segments.push_back({[shape, tokens, positions](const Tensor& inputs, const Pass& pass) {
                              const Tensor found = embedded(tokens, inputs, shape.context);
                              return dropout(found + positions.narrow(0, 0, inputs.size(1)), shape.dropout, pass, 0);
                            },
                            {tokens, positions}});
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto own = [&](std::string_view name) { return parameter(fmt::format("h.{}.{}", layer, name)); };
    const Gpt2Block block = {own("ln_1.weight"),      own("ln_1.bias"),          own("attn.c_attn.weight"),
                             own("attn.c_attn.bias"), own("attn.c_proj.weight"), own("attn.c_proj.bias"),
                             own("ln_2.weight"),      own("ln_2.bias"),          own("mlp.c_fc.weight"),
                             own("mlp.c_fc.bias"),    own("mlp.c_proj.weight"),  own("mlp.c_proj.bias")};
    const std::uint32_t first_site = 1 + static_cast<std::uint32_t>(layer) * gpt2_sites;
    parts.segments.push_back({[block, shape, first_site](const Tensor& x, const Pass& pass) {
                                return run_gpt2_block(block, shape, x, pass, first_site);
                              },
                              block.all()});
  }
  const Tensor weight = parameter("ln_f.weight");
  const Tensor bias = parameter("ln_f.bias");
  parts.segments.push_back(
      {[weight, bias](const Tensor& x, const Pass&) { return gpt2_norm(x, weight, bias); }, {weight, bias}});
  parts.head = tokens;
  return std::make_unique<Chain>(std::move(parts), recompute);
}

}  // namespace lehi::model
