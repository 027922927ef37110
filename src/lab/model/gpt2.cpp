#include "model/gpt2.h"

#include <torch/torch.h>

#include <cmath>

#include "layers/activation.h"
#include "layers/attention.h"
#include "model/transformer.h"
#include "runtime/message.h"

namespace lehi::model {

using torch::Tensor;

namespace {

constexpr double gpt2_norm_eps = 1e-5;
constexpr double gpt2_std = 0.02;
// The dropout sites of a block.
constexpr std::uint32_t gpt2_sites = 3;

struct Gpt2Block {
  Norm norm1;
  Linear attention;  // queries, keys and values side by side
  Linear out;
  Norm norm2;
  Linear up;
  Linear down;
  layers::AttentionShape shape;  // rows and tokens are those of the batch, set by each pass
  double dropout = 0.0;
  std::uint32_t first_site = 0;
};

layers::AttentionInputs split_in_three(const Tensor& joined) {
  const std::int64_t width = joined.size(1) / 3;
  return {joined.narrow(1, 0, width), joined.narrow(1, width, width), joined.narrow(1, 2 * width, width)};
}

SegmentPass forward_gpt2_block(const Gpt2Block& block, const Tensor& input, const Pass& pass) {
  layers::AttentionShape shape = block.shape;
  shape.rows = input.size(0);
  shape.tokens = input.size(1);
  const Tensor x = input.reshape({-1, input.size(2)});
  const auto drop = [&](std::uint32_t site) { return dropout_at(block.dropout, pass, block.first_site + site); };

  const auto [normed, statistics] = block.norm1.run(x);
  const Tensor joined = block.attention.run(normed);
  const layers::Dropout attention_drop = drop(0);
  const layers::AttentionResult attended = attend(shape, split_in_three(joined), attention_drop);
  const BranchSum middle = add_branch(x, block.out, attended.values, drop(1), shape.rows);
  const auto [middle_normed, middle_statistics] = block.norm2.run(middle.output);
  const Tensor up = block.up.run(middle_normed);
  const BranchSum end = add_branch(middle.output, block.down, layers::gelu(up), drop(2), shape.rows);

  // Normalised values and activations are recomputed: beside the products that costs little.
  auto pull_back = [=, statistics = statistics, middle_statistics = middle_statistics, slope = up, end_mask = end.mask](
                       const std::vector<Tensor>& cotangents, const Differentiable::Deliver& deliver) mutable {
    Tensor to = stacked(cotangents, x.size(1));
    const Tensor active = layers::gelu_and_slope(slope);
    Tensor hidden = pull_back_branch(block.down, active, end_mask, to, deliver);
    layers::multiply_by_slope(hidden, slope);
    const Tensor up_back = block.up.pull_back(block.norm2.recompute(middle.output, middle_statistics), hidden, deliver);
    block.norm2.pull_back(middle.output, middle_statistics, up_back, to, deliver);
    const Tensor mixed = pull_back_branch(block.out, attended.values, middle.mask, to, deliver);
    const Tensor parts = torch::empty({mixed.size(0), joined.size(1)}, joined.options());
    pull_back_attend(shape, split_in_three(joined), attended.log_normaliser, attention_drop, mixed,
                     split_in_three(parts));
    const Tensor parts_back = block.attention.pull_back(block.norm1.recompute(x, statistics), parts, deliver);
    block.norm1.pull_back(x, statistics, parts_back, to, deliver);
    return unstacked(to, {shape.rows, shape.tokens, x.size(1)});
  };
  return {end.output.view(input.sizes()), pull_back};
}

void check_gpt2(const Gpt2Shape& shape) {
  for (const std::int64_t size : {shape.vocabulary, shape.context, shape.width, shape.layers, shape.heads}) {
    if (size >= 1) continue;
    throw_invalid_argument(
        "a GPT-2 of vocabulary {}, context {}, width {}, {} layers and {} heads: each must be at least 1",
        shape.vocabulary, shape.context, shape.width, shape.layers, shape.heads);
  }
  if (shape.width % shape.heads != 0) {
    throw_invalid_argument(
        "a GPT-2 of width {} can't have {} heads: the width must be a multiple of the number of heads", shape.width,
        shape.heads);
  }
  if (!(shape.dropout >= 0.0 && shape.dropout < 1.0))
    throw_invalid_argument("dropout is {}; expected a number of at least 0 and below 1", shape.dropout);
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
  const double branch_std = gpt2_std / std::sqrt(2.0 * static_cast<double>(shape.layers));
  Chain::Parts parts;
  parts.parameters =
      make_parameters(gpt2_parameters(shape), seed, dtype, [&](const std::string& name) -> InitialValues {
        if (name.find("ln_") != std::string::npos) return {.constant = name.ends_with("weight") ? 1.0 : 0.0};
        if (name.ends_with("bias")) return {};
        return {.std = name.ends_with("c_proj.weight") ? branch_std : gpt2_std};
      });
  const auto parameter = [&](const std::string& name) { return parts.parameters[name]; };

  const Tensor tokens = parameter("wte.weight");
  const Tensor positions = parameter("wpe.weight");
  parts.segments.push_back({[shape, tokens, positions](const Tensor& inputs, const Pass& pass) {
                              const Tensor found = embed(tokens, inputs, shape.context);
                              return dropout(found + positions.narrow(0, 0, inputs.size(1)), shape.dropout, pass, 0);
                            },
                            {tokens, positions}});
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto own = [&](std::string_view name) { return parameter(fmt::format("h.{}.{}", layer, name)); };
    const auto norm = [&](const std::string& name) -> Norm {
      return {own(name + ".weight"), own(name + ".bias"), gpt2_norm_eps};
    };
    const auto linear = [&](const std::string& name) -> Linear { return {own(name + ".weight"), own(name + ".bias")}; };
    const Gpt2Block block = {
        .norm1 = norm("ln_1"),
        .attention = linear("attn.c_attn"),
        .out = linear("attn.c_proj"),
        .norm2 = norm("ln_2"),
        .up = linear("mlp.c_fc"),
        .down = linear("mlp.c_proj"),
        .shape = {.heads = shape.heads, .groups = shape.heads, .width = shape.width / shape.heads},
        .dropout = shape.dropout,
        .first_site = 1 + static_cast<std::uint32_t>(layer) * gpt2_sites,
    };
    parts.segments.push_back(
        {.forward = [block](const Tensor& x, const Pass& pass) { return forward_gpt2_block(block, x, pass); }});
  }
  parts.segments.push_back(norm_segment({parameter("ln_f.weight"), parameter("ln_f.bias"), gpt2_norm_eps}));
  parts.head = tokens;
  return std::make_unique<Chain>(std::move(parts), recompute);
}

}  // namespace lehi::model
