// Several ranks train a model to the weights that one process with all rows gets, in float64: the MLP, a ResNet with
// batch normalisation over all ranks' rows, and GPT-2 with dropout, each with a last batch of fewer rows than ranks.
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "distributed/gloo_threads.h"
#include "lehi/lehi.h"
#include "model/gpt2.h"
#include "model/llama.h"
#include "model/mlp.h"
#include "model/resnet.h"
#include "support/support.h"
#include "train/share.h"

namespace lehi::distributed {
namespace {

using lehi::testing::relative_difference;
using lehi::testing::same_bits;
using model::Network;
using torch::Tensor;

struct Setting {
  std::string name;
  std::function<std::unique_ptr<Network>()> network;
  Tensor inputs;
  Tensor targets;
  std::int64_t batch = 0;
  std::int64_t steps = 0;
};

Tensor normal(std::vector<std::int64_t> sizes) {
  return torch::randn(sizes, at::detail::createCPUGenerator(5), torch::dtype(torch::kFloat64));
}

Tensor random_integers(std::int64_t end, std::vector<std::int64_t> sizes) {
  return torch::randint(end, sizes, at::detail::createCPUGenerator(6), torch::dtype(torch::kInt64));
}

Setting mlp_setting() {
  return {"mlp",
          [] {
            return std::make_unique<model::Mlp>(std::vector<std::int64_t>{6, 16, 3}, 1, torch::kFloat64);
          },
          normal({257, 6}),
          random_integers(3, {257}),
          128,
          50};
}

Setting resnet_setting() {
  return {"resnet",
          [] {
            return model::make_resnet({.classes = 3, .width = 4, .blocks = {1, 1}}, 1, false, torch::kFloat64);
          },
          normal({13, 3, 6, 6}),
          random_integers(3, {13}),
          6,
          20};
}

Setting gpt2_setting() {
  return {"gpt2",
          [] {
            return model::make_gpt2(
                {.vocabulary = 11, .context = 5, .width = 8, .layers = 2, .heads = 2, .dropout = 0.2}, 1, false,
                torch::kFloat64);
          },
          random_integers(11, {9, 5}),
          random_integers(11, {9, 5}),
          4,
          20};
}

struct Trained {
  Tensor weights;
  Tensor buffers;
  double value = 0.0;
};

Tensor joined(const model::NamedParameters& tensors) {
  std::vector<Tensor> flat;
  for (const auto& item : tensors) flat.push_back(item.value().detach().reshape({-1}).clone());
  return flat.empty() ? torch::zeros({1}, torch::kFloat64) : torch::cat(flat);
}

Trained train(const Setting& setting, const Options& options, const std::shared_ptr<ProcessRanks>& ranks,
              const DistributeOptions& distribute = {}) {
  const auto network = setting.network();
  const bool has_head = network->head().defined();
  const std::unique_ptr<Loss> loss = has_head
                                         ? std::unique_ptr<Loss>(std::make_unique<LinearCrossEntropy>(network->head()))
                                         : std::make_unique<CrossEntropy>();
  Optimizer optimizer(network->named_parameters(), options);
  if (ranks != nullptr) {
    optimizer.distribute(ranks, distribute);
    network->share_statistics(ranks.get());
  }
  Trained result;
  const std::int64_t size = setting.inputs.size(0);
  const std::int64_t batches = (size + setting.batch - 1) / setting.batch;
  for (std::int64_t step = 0; step < setting.steps; ++step) {
    const std::int64_t first = step % batches * setting.batch;
    const std::int64_t rows = std::min(setting.batch, size - first);
    const train::Share own =
        ranks == nullptr ? train::Share{0, rows} : train::share_of(rows, ranks->rank(), ranks->size());
    const RandomKey key{
        .seed = 3, .step = static_cast<std::uint64_t>(step + 1), .first_row = static_cast<std::uint64_t>(own.first)};
    optimizer.set_first_row(own.first);
    const auto take = [&](const Tensor& all) { return all.narrow(0, first + own.first, own.length).contiguous(); };
    result.value = optimizer.step(network->forward(take(setting.inputs), key), *loss, take(setting.targets));
  }
  result.weights = joined(network->named_parameters());
  result.buffers = joined(network->named_buffers());
  return result;
}

void expect_weights_of_one_process(const Setting& setting, const std::vector<int>& sizes = {2, 3}) {
  for (const char* name : {"lehi", "lehibrid", "lehi-gn", "adamw", "sophia-g"}) {
    Options options = preset(name);
    options.group.lr = 1e-3;
    options.group.eps = std::max(options.group.eps, 1e-6);  // near 0 / 0 rounding would decide
    const Trained alone = train(setting, options, nullptr);
    for (const int size : sizes) {
      SCOPED_TRACE(setting.name + ", " + name + ", " + std::to_string(size) + " ranks");
      std::vector<Trained> plain(static_cast<std::size_t>(size));
      std::vector<Trained> sharded(plain.size());
      const auto at = [](const auto& ranks) { return static_cast<std::size_t>(ranks->rank()); };
      run_gloo(size, [&](const auto& ranks) {
        plain[at(ranks)] = train(setting, options, ranks);
        sharded[at(ranks)] = train(setting, options, ranks, {.shard_state = true});
      });
      EXPECT_LE(relative_difference(plain[0].weights, alone.weights), 1e-12);
      EXPECT_LE(relative_difference(plain[0].buffers, alone.buffers), 1e-12);
      EXPECT_NEAR(plain[0].value, alone.value, 1e-11);
      for (const Trained& rank : plain) {
        EXPECT_TRUE(same_bits(rank.weights, plain[0].weights));
        EXPECT_TRUE(same_bits(sharded[0].weights, plain[0].weights));
        EXPECT_TRUE(same_bits(rank.buffers, plain[0].buffers));
      }
    }
  }
}

TEST(RanksTrain, TheMlpAsOneProcess) { expect_weights_of_one_process(mlp_setting()); }
TEST(RanksTrain, AResNetAsOneProcess) { expect_weights_of_one_process(resnet_setting(), {3}); }
TEST(RanksTrain, Gpt2AsOneProcess) { expect_weights_of_one_process(gpt2_setting()); }

}  // namespace
}  // namespace lehi::distributed
