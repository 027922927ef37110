#include "bench/plain_models.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace lehi::bench {
namespace {

using torch::Tensor;

model::NamedParameters leaves_of(const model::NamedParameters& weights) {
  model::NamedParameters leaves;
  for (const auto& item : weights) leaves.insert(item.key(), item.value().detach().clone().requires_grad_(true));
  return leaves;
}

Tensor plain_block(const model::NamedParameters& w, const std::string& name, const Tensor& x, std::int64_t heads) {
  const std::int64_t rows = x.size(0);
  const std::int64_t tokens = x.size(1);
  const std::int64_t width = x.size(2);
  const auto at = [&](const char* part) { return w[name + part]; };
  const auto norm = [&](const Tensor& of, const char* weight, const char* bias) {
    return torch::layer_norm(of, {width}, at(weight), at(bias));
  };
  const Tensor parts =
      (torch::matmul(norm(x, ".ln_1.weight", ".ln_1.bias"), at(".attn.c_attn.weight")) + at(".attn.c_attn.bias"))
          .view({rows, tokens, 3, heads, width / heads})
          .permute({2, 0, 3, 1, 4});
  const Tensor mask = torch::ones({tokens, tokens}, torch::kBool).tril();
  const Tensor scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) /
                        std::sqrt(static_cast<double>(width) / static_cast<double>(heads));
  const Tensor mixed = torch::matmul(torch::softmax(scores.masked_fill(~mask, -1e30), -1), parts[2])
                           .transpose(1, 2)
                           .reshape({rows, tokens, width});
  const Tensor y = x + torch::matmul(mixed, at(".attn.c_proj.weight")) + at(".attn.c_proj.bias");
  const Tensor up = torch::matmul(norm(y, ".ln_2.weight", ".ln_2.bias"), at(".mlp.c_fc.weight")) + at(".mlp.c_fc.bias");
  return y + torch::matmul(torch::gelu(up, "tanh"), at(".mlp.c_proj.weight")) + at(".mlp.c_proj.bias");
}

Tensor plain_normed(const model::NamedParameters& w, const std::string& convolution, const std::string& norm,
                    const Tensor& x, std::int64_t stride) {
  const Tensor kernel = w[convolution + ".weight"];
  return torch::batch_norm(torch::conv2d(x, kernel, {}, stride, kernel.size(2) / 2), w[norm + ".weight"],
                           w[norm + ".bias"], {}, {}, /*training=*/true, 0.1, 1e-5, /*cudnn_enabled=*/false);
}

Tensor plain_residual(const model::NamedParameters& w, const std::string& name, const Tensor& x, std::int64_t stride) {
  const Tensor hidden = torch::relu(plain_normed(w, name + ".conv1", name + ".bn1", x, stride));
  const Tensor branch = plain_normed(w, name + ".conv2", name + ".bn2", hidden, 1);
  const bool projects = w.contains(name + ".downsample.0.weight");
  const Tensor shortcut = projects ? plain_normed(w, name + ".downsample.0", name + ".downsample.1", x, stride) : x;
  return torch::relu(branch + shortcut);
}

}  // namespace

PlainModel plain_gpt2(const model::NamedParameters& weights, const model::Gpt2Shape& shape) {
  auto w = leaves_of(weights);  // not const: the functions below are moved
  return {w.values(), [w, shape](const Tensor& inputs) {
            Tensor x = torch::embedding(w["wte.weight"], inputs) + w["wpe.weight"].narrow(0, 0, inputs.size(1));
            for (std::int64_t i = 0; i < shape.layers; ++i) x = plain_block(w, fmt::format("h.{}", i), x, shape.heads);
            x = torch::layer_norm(x, {shape.width}, w["ln_f.weight"], w["ln_f.bias"]);
            return torch::matmul(x, w["wte.weight"].t());
          }};
}

PlainModel plain_resnet(const model::NamedParameters& weights) {
  auto w = leaves_of(weights);  // not const: the functions below are moved
  return {w.values(), [w](const Tensor& inputs) {
            Tensor x = torch::relu(plain_normed(w, "conv1", "bn1", inputs, 1));
            for (int stage = 1; stage <= 4; ++stage) {
              x = plain_residual(w, fmt::format("layer{}.0", stage), x, stage == 1 ? 1 : 2);
              x = plain_residual(w, fmt::format("layer{}.1", stage), x, 1);
            }
            return torch::linear(x.mean({2, 3}), w["fc.weight"], w["fc.bias"]);
          }};
}

PlainModel plain_mlp(const model::NamedParameters& weights) {
  auto w = leaves_of(weights);  // not const: the functions below are moved
  return {w.values(), [w](const Tensor& inputs) {
            const Tensor hidden = torch::relu(torch::linear(inputs, w["layers.0.weight"], w["layers.0.bias"]));
            return torch::linear(hidden, w["layers.1.weight"], w["layers.1.bias"]);
          }};
}

}  // namespace lehi::bench
