// The multilayer perceptron against torch: initial weights against torch::nn::Linear to the bit, predictions and
// gradients against autograd with the same weights.
#include "model/mlp.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "lehi/lehi.h"
#include "support/support.h"

namespace lehi::model {
namespace {

using lehi::testing::message_of;
using lehi::testing::relative_difference;
using lehi::testing::same_bits;
using Tensors = std::vector<torch::Tensor>;

// Sums of some hundred terms in another order; a missing or wrong term would differ by far more.
double rounding(torch::Dtype dtype) { return dtype == torch::kFloat64 ? 1e-12 : 1e-5; }

const std::vector<std::vector<std::int64_t>>& shapes() {
  static const std::vector<std::vector<std::int64_t>> all = {
      {7, 3},                // no hidden layer
      {1, 1},                // the smallest
      {9, 100, 1},           // protein
      {784, 50, 10},         // mnist
      {13, 31, 17, 5, 4},    // three hidden layers, nothing a multiple of a vector
      {300, 64, 33, 16, 2},  // an inner index longer than one block
  };
  return all;
}

Tensors values_of(const Mlp& model) {
  Tensors values;
  for (const auto& item : model.named_parameters()) values.push_back(item.value());
  return values;
}

/// New leaves with the same numbers, for autograd.
Tensors leaves_of(const Mlp& model) {
  Tensors leaves;
  for (const auto& value : values_of(model)) leaves.push_back(value.detach().clone().requires_grad_(true));
  return leaves;
}

torch::Tensor reference_forward(const Tensors& w, torch::Tensor x) {
  for (std::size_t l = 0; l < w.size(); l += 2) {
    x = torch::linear(x, w[l], w[l + 1]);
    if (l + 2 < w.size()) x = torch::relu(x);
  }
  return x;
}

TEST(Mlp, WeightsAreThoseOfTorchsLinearLayers) {
  for (const auto& sizes : shapes()) {
    for (const std::uint64_t seed : {0, 1, 12345}) {
      torch::manual_seed(seed);
      Tensors expected;
      for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
        const torch::nn::Linear layer(sizes[l], sizes[l + 1]);
        expected.push_back(layer->weight);
        expected.push_back(layer->bias);
      }
      const Mlp model(sizes, seed);
      const Mlp wide(sizes, seed, torch::kFloat64);
      ASSERT_EQ(model.named_parameters().size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(same_bits(values_of(model)[i], expected[i])) << model.named_parameters()[i].key();
        EXPECT_TRUE(same_bits(values_of(wide)[i], expected[i].to(torch::kFloat64)));
      }
    }
  }
}

TEST(Mlp, TheGlobalGeneratorIsNotUsed) {
  torch::manual_seed(5);
  const auto expected = torch::rand({3});
  torch::manual_seed(5);
  const Mlp model({784, 50, 10}, 0);
  EXPECT_TRUE(same_bits(torch::rand({3}), expected));
}

TEST(Mlp, ParametersHaveTorchsNamesAndThePapersNumbers) {
  const Mlp model({784, 50, 10}, 0);
  std::string names;
  for (const auto& item : model.named_parameters()) names += item.key() + " ";
  EXPECT_EQ(names, "layers.0.weight layers.0.bias layers.1.weight layers.1.bias ");
  EXPECT_EQ(parameter_count(model), 39'760);
  EXPECT_EQ(parameter_count(Mlp({9, 100, 1}, 0)), 1'101);
}

// The gradients that the backward pass delivers, by cotangent and in the order of the parameters.
std::vector<Tensors> pulled_by(const Differentiable& network, const Tensors& cotangents) {
  std::vector<Tensors> lists(cotangents.size());
  network.pull_back(cotangents, [&](const torch::Tensor&, const Tensors& pulled) {
    for (std::size_t c = 0; c < pulled.size(); ++c) lists[c].push_back(pulled[c]);
  });
  return lists;
}

TEST(Mlp, PredictionsAndGradientsAreAutograds) {
  for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
    for (const auto& sizes : shapes()) {
      Mlp model(sizes, 3, dtype);
      const auto leaves = leaves_of(model);
      torch::manual_seed(17);
      // Batches that grow, shrink and grow again: buffers are reused.
      for (const std::int64_t rows : {5, 128, 1, 131, 128}) {
        for (const std::size_t count : {1, 2, 1, 3}) {
          SCOPED_TRACE("rows " + std::to_string(rows) + ", cotangents " + std::to_string(count));
          const auto inputs = torch::randn({rows, sizes.front()}, dtype);
          const auto expected = reference_forward(leaves, inputs);
          const Differentiable network = model.forward(inputs);
          EXPECT_FALSE(network.predictions.requires_grad());
          EXPECT_LE(relative_difference(network.predictions, expected), rounding(dtype));
          EXPECT_TRUE(same_bits(network.predictions, model.predict(inputs)));

          Tensors cotangents;
          for (std::size_t c = 0; c < count; ++c) cotangents.push_back(torch::randn({rows, sizes.back()}, dtype));
          const auto pulled = pulled_by(network, cotangents);
          ASSERT_EQ(pulled.size(), count);
          for (std::size_t c = 0; c < count; ++c) {
            const auto gradients = torch::autograd::grad({expected}, leaves, {cotangents[c]}, /*retain_graph=*/true);
            ASSERT_EQ(pulled[c].size(), gradients.size());
            for (std::size_t i = 0; i < gradients.size(); ++i) {
              EXPECT_EQ(pulled[c][i].sizes(), gradients[i].sizes());
              EXPECT_LE(relative_difference(pulled[c][i], gradients[i]), rounding(dtype)) << "parameter " << i;
            }
          }
        }
      }
    }
  }
}

// Large enough for BLAS: 70 million multiplications in the first layer.
TEST(Mlp, LargeLayersAreAutogradsToo) {
  Mlp model({512, 512, 3}, 1, torch::kFloat64);
  const auto leaves = leaves_of(model);
  torch::manual_seed(2);
  const auto inputs = torch::randn({270, 512}, torch::kFloat64);
  const Tensors cotangents = {torch::randn({270, 3}, torch::kFloat64), torch::randn({270, 3}, torch::kFloat64)};
  const auto expected = reference_forward(leaves, inputs);
  const auto network = model.forward(inputs);
  EXPECT_LE(relative_difference(network.predictions, expected), 1e-12);
  const auto pulled = pulled_by(network, cotangents);
  for (std::size_t c = 0; c < 2; ++c) {
    const auto gradients = torch::autograd::grad({expected}, leaves, {cotangents[c]}, /*retain_graph=*/true);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_LE(relative_difference(pulled[c][i], gradients[i]), 1e-12);
    }
  }
}

TEST(Mlp, ARowsPredictionDoesNotDependOnItsBatch) {
  const Mlp model({784, 50, 10}, 0);
  torch::manual_seed(4);
  const auto inputs = torch::randn({131, 784});
  const auto all = model.predict(inputs);
  for (const std::int64_t row : {0, 64, 130}) {
    EXPECT_TRUE(same_bits(model.predict(inputs.narrow(0, row, 1)), all.narrow(0, row, 1)));
  }
}

// Shapes large enough for several threads, with sizes that are not multiples of any unit.
TEST(Mlp, SameBitsForAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    for (const auto& sizes : {std::vector<std::int64_t>{784, 50, 10}, {333, 97, 65, 7}}) {
      for (const std::size_t count : {1, 2, 3}) {
        std::vector<Tensors> found;
        for (const int some : {1, 2, 3}) {
          at::set_num_threads(some);
          Mlp model(sizes, 3, dtype);
          torch::manual_seed(6);
          const auto network = model.forward(torch::randn({131, sizes.front()}, dtype));
          Tensors results = {network.predictions.clone()};
          Tensors cotangents;
          for (std::size_t c = 0; c < count; ++c) cotangents.push_back(torch::randn({131, sizes.back()}, dtype));
          for (const auto& list : pulled_by(network, cotangents)) {
            for (const auto& tensor : list) results.push_back(tensor.clone());
          }
          found.push_back(std::move(results));
        }
        for (std::size_t i = 0; i < found[0].size(); ++i) {
          EXPECT_TRUE(same_bits(found[1][i], found[0][i])) << count << " cotangents, tensor " << i;
          EXPECT_TRUE(same_bits(found[2][i], found[0][i])) << count << " cotangents, tensor " << i;
        }
      }
    }
  }
  at::set_num_threads(threads);
}

TEST(Mlp, InputsAndCotangentsMayHaveAnyStrides) {
  Mlp model({6, 5, 3}, 0, torch::kFloat64);
  torch::manual_seed(4);
  const auto inputs = torch::randn({6, 8}, torch::kFloat64).t();
  const auto cotangent = torch::randn({3, 8}, torch::kFloat64).t();
  const auto copy = [](const std::vector<Tensors>& lists) {
    Tensors copies;
    for (const auto& tensor : lists.at(0)) copies.push_back(tensor.clone());
    return copies;
  };
  const auto strided = copy(pulled_by(model.forward(inputs), {cotangent}));
  const auto dense = copy(pulled_by(model.forward(inputs.contiguous()), {cotangent.contiguous()}));
  for (std::size_t i = 0; i < dense.size(); ++i) EXPECT_TRUE(same_bits(strided[i], dense[i]));
}

// The tolerance: twelve steps accumulate rounding, and early ones divide by small s. Along the vector in which a
// softmax's gradient is zero the factors of a Kronecker matrix have rounding only, of which eps = 1e-8 leaves up to a
// unit of 1e-8.
TEST(Mlp, EveryOptimizerTakesTheStepsOfAutogradsGraph) {
  torch::manual_seed(8);
  const auto inputs = torch::randn({24, 9}, torch::kFloat64);
  const auto classes = torch::randint(0, 4, {24}, torch::kInt64);
  const CrossEntropy loss;
  for (const auto which : all_presets()) {
    Options options = preset(which);
    options.group.lr = 0.01;
    // The factor of a longer side is singular, and rounding chooses the vectors of its null space.
    options.recipe.kronecker.sides = Sides::smaller;
    const double rounding = options.recipe.shape == Shape::kronecker ? 1e-8 : 1e-10;
    Mlp model({9, 7, 6, 4}, 2, torch::kFloat64);
    const auto leaves = leaves_of(model);
    Optimizer optimizer(model.named_parameters(), options);
    Optimizer reference(leaves, options);
    for (int step = 0; step < 12; ++step) {
      const double value = optimizer.step(model.forward(inputs), loss, classes);
      const double expected = reference.step(reference_forward(leaves, inputs), loss, classes);
      EXPECT_NEAR(value, expected, rounding) << options.name;
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      EXPECT_LE(relative_difference(values_of(model)[i], leaves[i]), rounding) << options.name << ", parameter " << i;
    }
  }
}

// A ReLU that returned 0 for NaN would hide NaN weights before it.
TEST(Mlp, NanPassesTheRelu) {
  Mlp model({3, 8, 2}, 0);
  auto weight = model.named_parameters()["layers.0.weight"];
  weight[4][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(model.forward(torch::ones({4, 3})).predictions.isnan().all().item<bool>());
}

TEST(Mlp, InvalidMlpSizesAndInputsThrow) {
  EXPECT_EQ(message_of([] { Mlp({5}, 0); }),
            "a multilayer perceptron of sizes [5]: expected inputs, hidden layers and outputs, each at least 1");
  EXPECT_EQ(message_of([] {
              Mlp({5, 0, 1}, 0);
            }),
            "a multilayer perceptron of sizes [5, 0, 1]: expected inputs, hidden layers and outputs, each at least 1");
  EXPECT_EQ(message_of([] {
              Mlp({5, 1}, 0, torch::kFloat16);
            }),
            "a multilayer perceptron of Half: expected float32 or float64");
  Mlp model({4, 2}, 0);
  EXPECT_EQ(message_of([&] {
              model.forward(torch::ones({3, 5}));
            }),
            "the inputs are Float [3, 5]; expected Float [rows, 4]");
  EXPECT_EQ(message_of([&] { model.predict(torch::ones({4})); }), "the inputs are Float [4]; expected Float [rows, 4]");
  EXPECT_EQ(message_of([&] {
              model.forward(torch::ones({3, 4}, torch::kFloat64));
            }),
            "the inputs are Double [3, 4]; expected Float [rows, 4]");
  EXPECT_EQ(message_of([&] { model.forward(torch::Tensor()); }), "the inputs are an undefined tensor");
  const auto network = model.forward(torch::ones({3, 4}));
  EXPECT_EQ(message_of([&] {
              pulled_by(network, {torch::ones({2, 2})});
            }),
            "a cotangent is Float [2, 2]; expected Float [3, 2], like the predictions");
}

}  // namespace
}  // namespace lehi::model
