// The comparisons with plain versions, and the loops that move bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "bench/difference.h"
#include "bench/plain_models.h"
#include "bench/session.h"
#include "bench/streams.h"
#include "bench/workload.h"

namespace lehi::bench {
namespace {

TEST(Difference, IsRelativeToTheTensorsNormOrAThousandthOfTheLargest) {
  const auto vector = [](double x, double y) { return torch::tensor({x, y}, torch::kFloat64); };
  EXPECT_EQ(largest_difference({vector(3, 4)}, {vector(3, 4)}), 0.0);
  EXPECT_DOUBLE_EQ(largest_difference({vector(3, 5)}, {vector(3, 4)}), 0.2);
  // The second pair is tiny beside the first, whose norm is 5.
  EXPECT_DOUBLE_EQ(largest_difference({vector(3, 4), vector(1e-9, 0)}, {vector(3, 4), vector(0, 0)}), 1e-9 / 5e-3);
  EXPECT_TRUE(std::isnan(largest_difference({vector(3, std::nan(""))}, {vector(3, 4)})));
  EXPECT_TRUE(std::isnan(largest_difference({}, {vector(3, 4)})));
}

TEST(Streams, TouchEveryElementOnce) {
  constexpr std::int64_t size = 100'003;
  auto w = torch::zeros({size});
  auto m = torch::zeros({size});
  auto v = torch::zeros({size});
  const auto g = torch::ones({size});
  const auto s = torch::full({size}, 3.0f);
  const auto data = [](const torch::Tensor& tensor) { return tensor.data_ptr<float>(); };
  stream_update(data(w), data(m), data(v), data(g), data(s), size);
  EXPECT_TRUE(w.eq(1).all().item<bool>() && m.eq(1).all().item<bool>() && v.eq(3).all().item<bool>());
  stream_update(data(w), data(m), data(v), data(g), nullptr, size);
  EXPECT_TRUE(w.eq(2).all().item<bool>() && v.eq(4).all().item<bool>());
  stream_loss(data(g), data(w), data(m), size);
  EXPECT_TRUE(w.eq(2).all().item<bool>() && m.eq(0).all().item<bool>());
}

TEST(Correctness, EveryContestantAgreesWithItsPlainVersion) {
  std::ostringstream err;
  const Settings settings{.correctness = true};
  BenchProgress progress(err, expected_seconds(settings));
  Session session(settings, progress, err);
  run_topics(session);
  std::vector<std::string> names;
  for (const auto& measurement : session.measurements()) {
    names.push_back(measurement.name);
    EXPECT_TRUE(is_ok(measurement)) << measurement.name << ": " << measurement.value;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"update/adamw", "update/lehi", "update/lehi-gn", "update/sophia-g",
                                             "loss/imitation", "loss/gauss-newton", "step/gpt2", "step/resnet",
                                             "step/mnist"}));
  EXPECT_EQ(err.str(), "");
}

TEST(Workload, WarmUpAndStepsHardlyChangeTheWeights) {
  const Workload workload = mnist_workload(8);
  const auto weight = workload.network->named_parameters()["layers.0.weight"];
  const auto before = weight.detach().clone();
  Optimizer optimizer(workload.network->named_parameters(), frozen_options(Preset::lehi));
  workload.warm_up(optimizer);
  EXPECT_GT(workload.step(optimizer), 0.0);
  EXPECT_EQ(optimizer.steps(), 2);
  EXPECT_LT(largest_difference({weight}, {before}), 1e-4);
}

}  // namespace
}  // namespace lehi::bench
