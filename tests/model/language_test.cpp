// GPT-2 and Llama against reference implementations with torch::nn's functions, one head at a time.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cmath>
#include <numbers>

#include "lehi/linear_cross_entropy.h"
#include "lehi/presets.h"
#include "model/delivered.h"
#include "model/gpt2.h"
#include "model/llama.h"
#include "model/transformer.h"
#include "support/support.h"

namespace lehi::testing {
namespace {

using model::Gpt2Shape;
using model::LlamaShape;
using model::Network;
using torch::Tensor;
namespace F = torch::nn::functional;

constexpr Gpt2Shape tiny_gpt2 = {.vocabulary = 13, .context = 7, .width = 8, .layers = 2, .heads = 2};
constexpr LlamaShape tiny_llama = {.vocabulary = 13,
                                   .context = 7,
                                   .width = 16,
                                   .layers = 2,
                                   .heads = 4,
                                   .key_heads = 2,
                                   .inner = 12,
                                   .scaling = {.original_context = 20}};

using Leaves = torch::OrderedDict<std::string, Tensor>;

Leaves leaves_of_network(const Network& network) {
  Leaves leaves;
  for (const auto& item : network.named_parameters()) {
    leaves.insert(item.key(), item.value().detach().clone().requires_grad_(true));
  }
  return leaves;
}

// One head: queries, keys and values [rows, tokens, width of the head].
Tensor attend_one_head(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto scores = torch::einsum("btd,bsd->bts", {q, k}) / std::sqrt(static_cast<double>(q.size(-1)));
  const auto allowed = torch::ones({q.size(1), q.size(1)}, torch::kBool).tril();
  return torch::einsum("bts,bsd->btd", {F::softmax(scores.masked_fill(~allowed, -1e300), 2), v});
}

Tensor reference_gpt2(Leaves& w, const Gpt2Shape& shape, const Tensor& tokens) {
  const auto norm = [&](const Tensor& x, const std::string& name) {
    return F::layer_norm(
        x, F::LayerNormFuncOptions({shape.width}).weight(w[name + ".weight"]).bias(w[name + ".bias"]).eps(1e-5));
  };
  const auto linear = [&](const Tensor& x, const std::string& name) {
    return F::linear(x, w[name + ".weight"].t(), w[name + ".bias"]);
  };
  Tensor x = F::embedding(tokens, w["wte.weight"]) + F::embedding(torch::arange(tokens.size(1)), w["wpe.weight"]);
  const std::int64_t head = shape.width / shape.heads;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto block = "h." + std::to_string(layer);
    const auto qkv = linear(norm(x, block + ".ln_1"), block + ".attn.c_attn").split(shape.width, -1);
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const auto part = [&](const Tensor& all) { return all.narrow(-1, h * head, head); };
      heads.push_back(attend_one_head(part(qkv[0]), part(qkv[1]), part(qkv[2])));
    }
    x = x + linear(torch::cat(heads, -1), block + ".attn.c_proj");
    const auto up = linear(norm(x, block + ".ln_2"), block + ".mlp.c_fc");
    const auto gelu = 0.5 * up * (1 + torch::tanh(std::sqrt(2 / std::numbers::pi) * (up + 0.044715 * up.pow(3))));
    x = x + linear(gelu, block + ".mlp.c_proj");
  }
  return norm(x, "ln_f");
}

// The frequencies as Llama's code computes them: by wavelength, in three cases.
std::vector<double> reference_frequencies(const LlamaShape& shape) {
  const auto& scaling = shape.scaling;
  const double context = static_cast<double>(scaling.original_context);
  const std::int64_t head = shape.width / shape.heads;
  std::vector<double> result;
  for (std::int64_t i = 0; i < head / 2; ++i) {
    const double frequency = 1 / std::pow(shape.rotary_base, static_cast<double>(2 * i) / static_cast<double>(head));
    const double wave = 2 * std::numbers::pi / frequency;
    if (wave < context / scaling.high_frequency) {
      result.push_back(frequency);
    } else if (wave > context / scaling.low_frequency) {
      result.push_back(frequency / scaling.factor);
    } else {
      const double smooth = (context / wave - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency);
      result.push_back((1 - smooth) * frequency / scaling.factor + smooth * frequency);
    }
  }
  return result;
}

// Rotation as a product of complex numbers.
Tensor rotated_as_complex(const Tensor& x, const LlamaShape& shape) {
  const auto frequencies = torch::tensor(reference_frequencies(shape), torch::kFloat64);
  const auto angles = torch::outer(torch::arange(x.size(1), torch::kFloat64), frequencies);
  const auto halves = x.chunk(2, -1);
  const auto product = torch::complex(halves[0], halves[1]) * torch::polar(torch::ones_like(angles), angles);
  return torch::cat({torch::real(product), torch::imag(product)}, -1);
}

Tensor reference_llama(Leaves& w, const LlamaShape& shape, const Tensor& tokens) {
  const auto norm = [&](const Tensor& x, const std::string& name) {
    return x / torch::sqrt(x.pow(2).mean(-1, true) + 1e-5) * w[name + ".weight"];
  };
  Tensor x = F::embedding(tokens, w["model.embed_tokens.weight"]);
  const std::int64_t head = shape.width / shape.heads;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto block = "model.layers." + std::to_string(layer);
    const auto linear = [&](const Tensor& input, const std::string& name) {
      return F::linear(input, w[block + "." + name + ".weight"]);
    };
    const auto normed = norm(x, block + ".input_layernorm");
    const auto q = linear(normed, "self_attn.q_proj");
    const auto k = linear(normed, "self_attn.k_proj");
    const auto v = linear(normed, "self_attn.v_proj");
    std::vector<Tensor> heads;
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const std::int64_t shared = h / (shape.heads / shape.key_heads);
      heads.push_back(attend_one_head(rotated_as_complex(q.narrow(-1, h * head, head), shape),
                                      rotated_as_complex(k.narrow(-1, shared * head, head), shape),
                                      v.narrow(-1, shared * head, head)));
    }
    x = x + linear(torch::cat(heads, -1), "self_attn.o_proj");
    const auto inner = norm(x, block + ".post_attention_layernorm");
    const auto gate = linear(inner, "mlp.gate_proj");
    x = x + linear(gate * torch::sigmoid(gate) * linear(inner, "mlp.up_proj"), "mlp.down_proj");
  }
  return norm(x, "model.norm");
}

// One of the two models, tiny and in float64, with its reference implementation.
struct Language {
  std::string name;
  std::function<std::unique_ptr<Network>(bool recompute, double dropout)> make;
  std::function<Tensor(Leaves&, const Tensor&)> reference;
};

// Adds noise to the initial weights, so that attention and gates are not nearly linear.
std::unique_ptr<Network> with_larger_weights(std::unique_ptr<Network> network) {
  const torch::NoGradGuard no_grad;
  torch::manual_seed(7);
  for (const auto& item : network->named_parameters()) {
    Tensor(item.value()).add_(torch::randn_like(item.value()), 0.3);
  }
  return network;
}

std::vector<Language> languages() {
  return {{"gpt2",
           [](bool recompute, double dropout) {
             auto shape = tiny_gpt2;
             shape.dropout = dropout;
             return with_larger_weights(make_gpt2(shape, 3, recompute, torch::kFloat64));
           },
           [](Leaves& w, const Tensor& tokens) { return reference_gpt2(w, tiny_gpt2, tokens); }},
          {"llama",
           [](bool recompute, double dropout) {
             auto shape = tiny_llama;
             shape.dropout = dropout;
             return with_larger_weights(make_llama(shape, 3, recompute, torch::kFloat64));
           },
           [](Leaves& w, const Tensor& tokens) { return reference_llama(w, tiny_llama, tokens); }}};
}

Tensor some_tokens(std::int64_t rows = 3, std::int64_t tokens = 6) {
  torch::manual_seed(2);
  return torch::randint(0, 13, {rows, tokens}, torch::kInt64);
}

TEST(Language, TheFullModelsHaveTheirParameters) {
  EXPECT_EQ(parameter_count(model::gpt2_parameters({})), 124'439'808);
  EXPECT_EQ(parameter_count(model::llama_parameters({})), 1'235'814'400);
  const auto network = make_gpt2(tiny_gpt2, 0);
  EXPECT_EQ(parameter_count(*network), parameter_count(model::gpt2_parameters(tiny_gpt2)));
}

TEST(Language, PredictionsAndGradientsAreTheReferences) {
  for (const auto& language : languages()) {
    SCOPED_TRACE(language.name);
    const auto tokens = some_tokens();
    for (const bool recompute : {false, true}) {
      const auto network = language.make(recompute, 0.0);
      auto leaves = leaves_of_network(*network);
      const auto expected = language.reference(leaves, tokens);
      const auto pass = network->forward(tokens, {});
      EXPECT_LE(relative_difference(pass.predictions, expected), 1e-13);
      EXPECT_LE(relative_difference(network->predict(tokens), expected), 1e-13);
      const std::vector<Tensor> cotangents = {torch::randn_like(expected), torch::randn_like(expected)};
      const auto delivered = delivered_by(*network, pass, cotangents);
      EXPECT_EQ(delivered.size(), leaves.size());
      for (std::size_t c = 0; c < 2; ++c) {
        const auto gradients = torch::autograd::grad({expected}, leaves.values(), {cotangents[c]}, true);
        for (std::size_t i = 0; i < leaves.size(); ++i) {
          const auto pulled = delivered.at(leaves[i].key())[c].to_dense();
          EXPECT_LE(relative_difference(pulled, gradients[i]), 1e-12) << leaves[i].key();
        }
      }
    }
  }
}

TEST(Language, GradientsOfTheWholeLossAreItsDifferences) {
  const auto tokens = some_tokens();
  const auto targets = some_tokens().flip({1}).contiguous();
  for (const auto& language : languages()) {
    SCOPED_TRACE(language.name);
    const auto network = language.make(false, 0.0);
    const LinearCrossEntropy loss(network->head(), {}, 5);
    const auto pass = network->forward(tokens, {});
    const auto evaluation = loss.evaluate(pass.predictions, targets);
    const auto delivered = delivered_by(*network, pass, {evaluation.gradient});
    for (const auto& item : network->named_parameters()) {
      auto gradient = delivered.at(item.key())[0].to_dense();
      if (item.value().is_same(network->head())) gradient = gradient + evaluation.parameter_gradients[0];
      const auto direction = torch::randn_like(item.value());
      const auto value_at = [&](double distance) {
        const torch::NoGradGuard no_grad;
        Tensor(item.value()).add_(direction, distance);
        const double value = loss.value(network->predict(tokens), targets).sum;
        Tensor(item.value()).sub_(direction, distance);
        return value;
      };
      constexpr double h = 1e-4;  // fourth order: the error is about h^4
      const double slope = (8 * (value_at(h) - value_at(-h)) - (value_at(2 * h) - value_at(-2 * h))) / (12 * h);
      const double expected = (gradient * direction).sum().item<double>();
      EXPECT_NEAR(slope, expected, 1e-7 * std::max(1.0, std::abs(expected))) << item.key();
    }
  }
}

// Several steps with tied weights, a probe and the chunked head; and with updates during the backward pass.
TEST(Language, OptimizersTakeTheStepsOfAutogradsGraph) {
  const auto tokens = some_tokens();
  const auto targets = some_tokens().flip({1}).contiguous();
  for (const auto& language : languages()) {
    for (const char* optimizer_name : {"lehi", "lehibrid", "lehi-gn", "adam", "adamw", "sophia-g"}) {
      SCOPED_TRACE(language.name + ", " + optimizer_name);
      auto options = preset(optimizer_name);
      options.non_finite = NonFinite::record;
      const auto network = language.make(false, 0.0);
      const auto recomputing = language.make(true, 0.0);
      auto leaves = leaves_of_network(*network);
      const std::string head = language.name == "gpt2" ? "wte.weight" : "model.embed_tokens.weight";
      Optimizer optimizer(network->named_parameters(), options);
      Optimizer reference(leaves, options);
      options.update_during_pull_back = true;
      Optimizer at_once(recomputing->named_parameters(), options);
      for (int step = 0; step < 4; ++step) {
        const double value =
            optimizer.step(network->forward(tokens, {}), LinearCrossEntropy(network->head(), {}, 4), targets);
        at_once.step(recomputing->forward(tokens, {}), LinearCrossEntropy(recomputing->head(), {}, 4), targets);
        const auto logits = torch::matmul(language.reference(leaves, tokens), leaves[head].t());
        EXPECT_NEAR(value, reference.step(logits, CrossEntropy(), targets), 1e-9 * value);
      }
      for (const auto& item : network->named_parameters()) {
        EXPECT_LE(relative_difference(item.value().detach(), leaves[item.key()].detach()), 1e-8) << item.key();
        EXPECT_TRUE(same_bits(recomputing->named_parameters()[item.key()].detach(), item.value().detach()))
            << item.key();
      }
    }
  }
}

TEST(Language, APredictionDependsOnNoLaterToken) {
  const auto tokens = some_tokens();
  auto changed = tokens.clone();
  changed.select(1, 4).fill_(0);
  for (const auto& language : languages()) {
    const auto network = language.make(false, 0.0);
    const auto before = network->predict(tokens);
    const auto after = network->predict(changed);
    EXPECT_LE(relative_difference(after.narrow(1, 0, 4), before.narrow(1, 0, 4)), 1e-15);
    EXPECT_GT(relative_difference(after.narrow(1, 4, 2), before.narrow(1, 4, 2)), 1e-6);
  }
}

TEST(Language, DropoutDependsOnKeyAndRowOnly) {
  const auto tokens = some_tokens(4);
  for (const auto& language : languages()) {
    SCOPED_TRACE(language.name);
    const auto network = language.make(false, 0.3);
    const auto again = language.make(true, 0.3);
    const RandomKey key{.seed = 1, .step = 5};
    const auto pass = network->forward(tokens, key);
    const auto whole = pass.predictions.clone();
    const auto cotangent = torch::ones_like(whole);
    const auto kept = delivered_by(*network, pass, {cotangent});
    const auto recomputed = delivered_by(*again, again->forward(tokens, key), {cotangent});
    for (const auto& [name, pulled] : kept) {
      EXPECT_TRUE(same_bits(pulled[0].to_dense(), recomputed.at(name)[0].to_dense())) << name;
    }
    const auto second_half = network->forward(tokens.narrow(0, 2, 2), {.seed = 1, .step = 5, .first_row = 2});
    // BLAS may sum products of other shapes in another order.
    EXPECT_LE(relative_difference(second_half.predictions, whole.narrow(0, 2, 2)), 1e-13);
    EXPECT_GT(relative_difference(network->forward(tokens, {.seed = 1, .step = 6}).predictions, whole), 0.01);
    EXPECT_LE(relative_difference(network->predict(tokens), language.make(false, 0.0)->predict(tokens)), 1e-15);
  }
  const auto ones = torch::ones({100, 1001}, torch::kFloat64);
  const auto dropped = model::dropout(ones, 0.25, {.training = true}, 3);
  EXPECT_NEAR(dropped.mean().item<double>(), 1.0, 0.01);
  EXPECT_NEAR(dropped.eq(0).to(torch::kFloat64).mean().item<double>(), 0.25, 0.005);
}

TEST(Language, RotaryFrequenciesAreLlamas) {
  for (const auto& shape : {tiny_llama, LlamaShape{}}) {
    const auto got = model::rotary_frequencies(shape.width / shape.heads, shape.rotary_base, shape.scaling);
    const auto expected = reference_frequencies(shape);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-15 * expected[0]);
  }
}

TEST(Language, InitialWeightsAreTheReferences) {
  const auto network = model::make_gpt2({.vocabulary = 500, .context = 100, .width = 64, .layers = 8, .heads = 4}, 1);
  const auto deviation = [&](const char* name) { return network->named_parameters()[name].std().item<double>(); };
  EXPECT_NEAR(deviation("wte.weight"), 0.02, 5e-4);
  EXPECT_NEAR(deviation("h.3.attn.c_attn.weight"), 0.02, 5e-4);
  EXPECT_NEAR(deviation("h.3.mlp.c_proj.weight"), 0.02 / 4, 1e-4);
  EXPECT_EQ(network->named_parameters()["h.3.attn.c_attn.bias"].abs().sum().item<double>(), 0.0);
  EXPECT_EQ(network->named_parameters()["ln_f.weight"].min().item<double>(), 1.0);
  EXPECT_TRUE(same_bits(make_gpt2(tiny_gpt2, 4, false, torch::kFloat64)->named_parameters()["wte.weight"].detach(),
                        make_gpt2(tiny_gpt2, 4)->named_parameters()["wte.weight"].detach().to(torch::kFloat64)));
}

TEST(Language, InvalidInputsAndShapesThrow) {
  const auto network = make_gpt2(tiny_gpt2, 0);
  EXPECT_EQ(message_of([&] {
              network->forward(torch::zeros({2, 8}, torch::kInt64), {});
            }),
            "the inputs have 8 tokens a row, more than the model's context of 7");
  EXPECT_EQ(message_of([&] {
              network->predict(torch::full({2, 3}, 13, torch::kInt64));
            }),
            "the inputs have tokens from 13 to 13; expected tokens from 0 to 12");
  EXPECT_EQ(message_of([&] {
              network->predict(torch::zeros({2, 3}));
            }),
            "the inputs are Float [2, 3]; expected Long [rows, tokens]");
  EXPECT_EQ(message_of([] { model::gpt2_parameters({.width = 10, .heads = 3}); }),
            "a GPT-2 of width 10 can't have 3 heads: the width must be a multiple of the number of heads");
  EXPECT_EQ(message_of([] { model::llama_parameters({.heads = 4, .key_heads = 3}); }),
            "a Llama of 4 heads can't have 3 key heads: the number of heads must be a multiple of the key heads");
}

}  // namespace
}  // namespace lehi::testing
