#include "bench/torch_gpt2.h"

#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/adamw.h>

#include <cmath>
#include <memory>

namespace lehi::bench {
namespace {

using torch::Tensor;
namespace nn = torch::nn;

constexpr std::int64_t torch_width = 768;
constexpr std::int64_t torch_heads = 12;
constexpr std::int64_t torch_layers = 12;
constexpr std::int64_t torch_context = 1024;
constexpr std::int64_t torch_vocabulary = 50257;

struct TorchBlockImpl : nn::Module {
  TorchBlockImpl() {
    register_module("norm1", norm1);
    register_module("qkv", qkv);
    register_module("out", out);
    register_module("norm2", norm2);
    register_module("up", up);
    register_module("down", down);
  }

  Tensor forward(const Tensor& x) {
    const std::int64_t rows = x.size(0);
    const std::int64_t tokens = x.size(1);
    constexpr std::int64_t depth = torch_width / torch_heads;
    const auto parts = qkv(norm1(x)).view({rows, tokens, 3, torch_heads, depth}).permute({2, 0, 3, 1, 4});
    const auto mask = torch::ones({tokens, tokens}, torch::kBool).tril();
    const auto scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(static_cast<double>(depth));
    const auto mixed = torch::matmul(torch::softmax(scores.masked_fill(~mask, -1e30), -1), parts[2]);
    const auto y = x + out(mixed.transpose(1, 2).reshape({rows, tokens, torch_width}));
    return y + down(torch::gelu(up(norm2(y)), "tanh"));
  }

  nn::LayerNorm norm1{nn::LayerNormOptions({torch_width})};
  nn::Linear qkv{torch_width, 3 * torch_width};
  nn::Linear out{torch_width, torch_width};
  nn::LayerNorm norm2{nn::LayerNormOptions({torch_width})};
  nn::Linear up{torch_width, 4 * torch_width};
  nn::Linear down{4 * torch_width, torch_width};
};
TORCH_MODULE(TorchBlock);

struct TorchGpt2Impl : nn::Module {
  TorchGpt2Impl() {
    register_module("tokens", tokens);
    register_module("positions", positions);
    register_module("blocks", blocks);
    register_module("norm", norm);
    for (std::int64_t i = 0; i < torch_layers; ++i) blocks->push_back(TorchBlock());
  }

  Tensor forward(const Tensor& ids) {
    auto x = tokens(ids) + positions(torch::arange(ids.size(1)));
    for (const auto& block : *blocks) x = block->as<TorchBlock>()->forward(x);
    return torch::matmul(norm(x), tokens->weight.t());
  }

  nn::Embedding tokens{torch_vocabulary, torch_width};
  nn::Embedding positions{torch_context, torch_width};
  nn::ModuleList blocks;
  nn::LayerNorm norm{nn::LayerNormOptions({torch_width})};
};
TORCH_MODULE(TorchGpt2);

}  // namespace

std::function<double()> torch_gpt2_step(const Tensor& inputs, const Tensor& targets) {
  TorchGpt2 network;
  const auto optimizer = std::make_shared<torch::optim::AdamW>(network->parameters(), torch::optim::AdamWOptions(3e-5));
  return [=]() mutable {
    optimizer->zero_grad();
    const auto loss =
        nn::functional::cross_entropy(network->forward(inputs).view({-1, torch_vocabulary}), targets.view(-1));
    loss.backward();
    optimizer->step();
    return loss.item<double>();
  };
}

}  // namespace lehi::bench
