// Chains of segments: each gradient is delivered once and is that of autograd for the whole network.
#include "model/chain.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "model/delivered.h"
#include "support/support.h"

namespace lehi::model {
namespace {

using lehi::testing::delivered_by;
using lehi::testing::message_of;
using lehi::testing::relative_difference;
using lehi::testing::same_bits;

torch::Tensor leaf(at::IntArrayRef sizes) { return torch::randn(sizes, torch::kFloat64); }

// Three layers of tanh; the second lists a parameter that it does not use.
struct ThreeLayers {
  torch::Tensor first = leaf({4, 5});
  torch::Tensor second = leaf({5, 5});
  torch::Tensor unused = leaf({2});
  torch::Tensor third = leaf({5, 3});
  std::vector<Pass> passes;

  Chain::Parts parts() {
    Chain::Parts parts;
    for (const auto& [name, value] : std::vector<std::pair<std::string, torch::Tensor>>{
             {"first", first}, {"second", second}, {"unused", unused}, {"third", third}}) {
      parts.parameters.insert(name, value);
    }
    const auto layer = [this](const torch::Tensor& weight) {
      return [this, weight](const torch::Tensor& x, const Pass& pass) {
        passes.push_back(pass);
        return x.matmul(weight).tanh();
      };
    };
    parts.segments = {{layer(first), {first}}, {layer(second), {second, unused}}, {layer(third), {third}}};
    return parts;
  }
  torch::Tensor whole(const torch::Tensor& x) const {
    return x.matmul(first).tanh().matmul(second).tanh().matmul(third).tanh();
  }
};

TEST(Chain, DeliversAutogradsGradientsOfEachParameterOnce) {
  torch::manual_seed(1);
  ThreeLayers layers;
  const auto inputs = leaf({7, 4});
  const std::vector<torch::Tensor> cotangents = {leaf({7, 3}), leaf({7, 3})};
  for (const bool recompute : {false, true}) {
    Chain chain(layers.parts(), recompute);
    layers.passes.clear();
    const auto pass = chain.forward(inputs, {.seed = 3, .step = 5});
    const auto expected = layers.whole(inputs);
    EXPECT_TRUE(same_bits(pass.predictions, expected.detach()));
    EXPECT_FALSE(pass.predictions.requires_grad());
    const auto delivered = delivered_by(chain, pass, cotangents);
    EXPECT_EQ(delivered.size(), 3U);
    EXPECT_FALSE(delivered.contains("unused"));
    for (const auto& [name, pulled] : delivered) {
      ASSERT_EQ(pulled.size(), 2U);
      for (std::size_t c = 0; c < 2; ++c) {
        const auto gradient =
            torch::autograd::grad({expected}, {chain.named_parameters()[name]}, {cotangents[c]}, true);
        EXPECT_LE(relative_difference(pulled[c], gradient[0]), 1e-14) << name;
        EXPECT_FALSE(pulled[c].requires_grad());
      }
    }
    ASSERT_EQ(layers.passes.size(), recompute ? 6U : 3U);
    for (std::size_t i = 0; i < layers.passes.size(); ++i) {
      EXPECT_TRUE(layers.passes[i].training);
      EXPECT_EQ(layers.passes[i].recomputing, i >= 3);
      EXPECT_EQ(layers.passes[i].key.step, 5U);
    }
  }
}

// Options::update_during_pull_back: a delivered parameter may change before the backward pass has ended.
TEST(Chain, ParametersMayChangeWhenTheyAreDelivered) {
  torch::manual_seed(2);
  const auto inputs = leaf({7, 4});
  const auto cotangent = leaf({7, 3});
  for (const bool recompute : {false, true}) {
    ThreeLayers layers;
    Chain chain(layers.parts(), recompute);
    const auto expected = delivered_by(chain, chain.forward(inputs), {cotangent});
    const torch::NoGradGuard as_optimizers_do;
    chain.forward(inputs).pull_back({cotangent},
                                    [&](const torch::Tensor& parameter, const std::vector<torch::Tensor>& pulled) {
                                      for (const auto& item : chain.named_parameters()) {
                                        if (!item.value().is_same(parameter)) continue;
                                        EXPECT_TRUE(same_bits(pulled[0], expected.at(item.key())[0])) << item.key();
                                      }
                                      torch::Tensor(parameter).zero_();
                                    });
    EXPECT_EQ(layers.first.abs().max().item<double>(), 0);
  }
}

TEST(Chain, EmbeddingsDeliverSparseRows) {
  torch::manual_seed(3);
  const auto table = leaf({11, 4});
  const auto weight = leaf({4, 2});
  const auto ids = torch::tensor({3, 7, 3}, torch::kInt64);
  Chain::Parts parts;
  parts.parameters.insert("table", table);
  parts.parameters.insert("weight", weight);
  parts.segments = {{[=](const torch::Tensor& x, const Pass&) {
                       return torch::embedding(table, x, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false,
                                               /*sparse=*/true);
                     },
                     {table}},
                    {[=](const torch::Tensor& x, const Pass&) { return x.matmul(weight); }, {weight}}};
  const std::vector<torch::Tensor> cotangents = {leaf({3, 2}), leaf({3, 2})};
  for (const bool recompute : {false, true}) {
    Chain chain(parts, recompute);
    const auto delivered = delivered_by(chain, chain.forward(ids), cotangents);
    ASSERT_EQ(delivered.size(), 2U);
    for (std::size_t c = 0; c < 2; ++c) {
      const auto& rows = delivered.at("table")[c];
      ASSERT_TRUE(rows.is_sparse());
      EXPECT_EQ(rows.coalesce()._nnz(), 2);
      const auto expected = torch::zeros({11, 4}, torch::kFloat64).index_add(0, ids, cotangents[c].matmul(weight.t()));
      EXPECT_LE(relative_difference(rows.to_dense(), expected.detach()), 1e-14);
    }
  }
}

// A first segment without parameters, such as a change of layout, and a last one that ignores its input.
TEST(Chain, SegmentsWithoutGradientsAreSkipped) {
  torch::manual_seed(4);
  const auto weight = leaf({4, 2});
  const auto constant = leaf({3, 2});
  Chain::Parts parts;
  parts.parameters.insert("weight", weight);
  parts.parameters.insert("constant", constant);
  const Segment flat{[](const torch::Tensor& x, const Pass&) { return x.flatten(1); }, {}};
  const Segment linear{[=](const torch::Tensor& x, const Pass&) { return x.matmul(weight); }, {weight}};
  const Segment ignoring{[=](const torch::Tensor&, const Pass&) { return constant * 2; }, {constant}};
  const auto inputs = leaf({3, 2, 2});
  for (const bool recompute : {false, true}) {
    parts.segments = {flat, linear};
    Chain chain(parts, recompute);
    const auto delivered = delivered_by(chain, chain.forward(inputs), {constant.detach()});
    ASSERT_EQ(delivered.size(), 1U);
    EXPECT_LE(relative_difference(delivered.at("weight")[0], inputs.flatten(1).t().matmul(constant.detach())), 1e-14);

    parts.segments = {flat, linear, ignoring};
    Chain cut(parts, recompute);
    const auto pass = cut.forward(inputs);
    const auto last = delivered_by(cut, pass, {constant.detach()});
    ASSERT_EQ(last.size(), 1U);
    EXPECT_TRUE(last.contains("constant"));
    EXPECT_NE(message_of([&] { delivered_by(cut, pass, {constant.detach()}); }), "");
  }
}

TEST(Chain, PredictReturnsANewTensor) {
  ThreeLayers layers;
  const Chain chain(layers.parts());
  const auto inputs = leaf({7, 4});
  const auto predictions = chain.predict(inputs);
  EXPECT_FALSE(predictions.requires_grad());
  EXPECT_TRUE(same_bits(predictions, layers.whole(inputs).detach()));
  EXPECT_FALSE(layers.passes.front().training);
  EXPECT_EQ(parameter_count(chain), 20 + 25 + 2 + 15);
}

TEST(Chain, ChainMisuseThrows) {
  EXPECT_EQ(message_of([] { Chain(Chain::Parts()); }), "a chain needs at least one segment");
  ThreeLayers layers;
  Chain chain(layers.parts());
  const auto pass = chain.forward(leaf({7, 4}));
  const auto cotangent = leaf({7, 3});
  const auto nothing = [](const torch::Tensor&, const std::vector<torch::Tensor>&) {};
  EXPECT_EQ(message_of([&] { pass.pull_back({cotangent}, nothing); }), "");
  EXPECT_EQ(message_of([&] { pass.pull_back({cotangent}, nothing); }),
            "the backward pass of a chain runs once after each forward()");
}

}  // namespace
}  // namespace lehi::model
