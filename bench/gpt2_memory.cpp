// Peak memory of training steps of GPT-2 small on 8 x 128 tokens: ours with LEHI, or a plain LibTorch program with
// torch::optim::AdamW. One process, one of them, so that peaks don't mix:
//
//   ninja -C build/release lehi_gpt2_memory
//   build/release/bench/lehi_gpt2_memory lehi
//   build/release/bench/lehi_gpt2_memory torch
#include <fmt/format.h>
#include <torch/torch.h>

#include <chrono>
#include <string_view>

#include "lehi/linear_cross_entropy.h"
#include "lehi/presets.h"
#include "lehi/runtime.h"
#include "model/gpt2.h"

namespace {

using torch::Tensor;
namespace nn = torch::nn;

constexpr std::int64_t width = 768;
constexpr std::int64_t heads = 12;
constexpr std::int64_t vocabulary = 50257;

// GPT-2 as a LibTorch user writes it.
struct BlockImpl : nn::Module {
  BlockImpl() {
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
    const auto parts = qkv(norm1(x)).view({rows, tokens, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
    const auto mask = torch::ones({tokens, tokens}, torch::kBool).tril();
    const auto scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(double(width) / heads);
    const auto mixed = torch::matmul(torch::softmax(scores.masked_fill(~mask, -1e30), -1), parts[2]);
    const auto y = x + out(mixed.transpose(1, 2).reshape({rows, tokens, width}));
    return y + down(torch::gelu(up(norm2(y)), "tanh"));
  }

  nn::LayerNorm norm1{nn::LayerNormOptions({width})};
  nn::Linear qkv{width, 3 * width};
  nn::Linear out{width, width};
  nn::LayerNorm norm2{nn::LayerNormOptions({width})};
  nn::Linear up{width, 4 * width};
  nn::Linear down{4 * width, width};
};
TORCH_MODULE(Block);

struct Gpt2Impl : nn::Module {
  Gpt2Impl() {
    register_module("tokens", tokens);
    register_module("positions", positions);
    register_module("blocks", blocks);
    register_module("norm", norm);
    for (int i = 0; i < 12; ++i) blocks->push_back(Block());
  }

  Tensor forward(const Tensor& ids) {
    auto x = tokens(ids) + positions(torch::arange(ids.size(1)));
    for (const auto& block : *blocks) x = block->as<Block>()->forward(x);
    return torch::matmul(norm(x), tokens->weight.t());
  }

  nn::Embedding tokens{vocabulary, width};
  nn::Embedding positions{1024, width};
  nn::ModuleList blocks;
  nn::LayerNorm norm{nn::LayerNormOptions({width})};
};
TORCH_MODULE(Gpt2);

}  // namespace

int main(int argc, char** argv) {
  lehi::runtime::prepare(argc, argv);
  const std::string_view which = argc > 1 ? argv[1] : "";
  if (which != "lehi" && which != "torch") {
    fmt::print(stderr, "usage: lehi_gpt2_memory lehi|torch\n");
    return 2;
  }
  torch::manual_seed(0);
  const auto inputs = torch::randint(0, vocabulary, {8, 128}, torch::kInt64);
  const auto targets = torch::randint(0, vocabulary, {8, 128}, torch::kInt64);
  std::function<double()> step;
  if (which == "lehi") {
    const std::shared_ptr<lehi::model::Network> network = lehi::model::make_gpt2({}, 0);
    const auto optimizer = std::make_shared<lehi::Lehi>(network->named_parameters(), lehi::LehiOptions(3e-2).eps(1e-2));
    step = [=] {
      return optimizer->step(network->forward(inputs, {}), lehi::LinearCrossEntropy(network->head()), targets);
    };
  } else {
    Gpt2 network;
    const auto optimizer =
        std::make_shared<torch::optim::AdamW>(network->parameters(), torch::optim::AdamWOptions(3e-5));
    step = [=]() mutable {
      optimizer->zero_grad();
      const auto loss =
          nn::functional::cross_entropy(network->forward(inputs).view({-1, vocabulary}), targets.view(-1));
      loss.backward();
      optimizer->step();
      return loss.item<double>();
    };
  }
  for (int i = 1; i <= 3; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const double value = step();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print("{} step {}: loss {:.4f}, {:.1f} s, peak {:.0f} MB\n", which, i, value, seconds.count(),
               double(lehi::runtime::peak_resident_bytes()) / 1e6);
  }
  return 0;
}
