// Predictions of 16 bits: the loss of the same numbers in float32; u and v rounded to the predictions' type.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <memory>
#include <vector>

#include "lehi/automatic.h"
#include "lehi/cross_entropy.h"
#include "lehi/linear_cross_entropy.h"
#include "lehi/losses.h"
#include "support/support.h"

namespace lehi {
namespace {

using testing::same_bits;
using torch::Tensor;

struct SixteenBitCase {
  std::shared_ptr<const Loss> loss;
  Tensor targets;
};

std::vector<SixteenBitCase> sixteen_bit_cases(const Tensor& p) {
  const Tensor y = torch::rand(p.sizes());
  const Tensor labels = torch::arange(p.size(0)).remainder(p.size(1));
  const auto square = [](const Tensor& a, const Tensor& b) { return (a - b).pow(4); };
  return {{std::make_shared<MeanSquaredError>(), y},
          {std::make_shared<BinaryCrossEntropy>(), y},
          {std::make_shared<Huber>(), y},
          {std::make_shared<LogCosh>(), y},
          {std::make_shared<PoissonNll>(), (3 * y).round()},
          {std::make_shared<CrossEntropy>(), labels},
          {std::make_shared<CrossEntropy>(), torch::softmax(y, -1)},
          {std::make_shared<Automatic>(square), y}};
}

TEST(SixteenBit, TheLossIsThatOfTheWidenedPredictions) {
  torch::manual_seed(3);
  for (const auto dtype : {torch::kBFloat16, torch::kFloat16}) {
    const Tensor p = torch::randn({7, 5}).to(dtype);
    for (const auto& [loss, targets] : sixteen_bit_cases(p)) {
      for (const Probe probe : all_probes()) {
        if (!loss->supports(probe)) continue;
        SCOPED_TRACE(loss->name() + ", " + std::string(name(probe)));
        const ProbeRequest request{probe, Scale::mean, {.seed = 4, .step = 5}};
        const auto wide = loss->evaluate(p.to(torch::kFloat32), targets, request);
        Evaluation out;
        for (int call = 0; call < 2; ++call) {  // the second one reuses the buffers
          loss->evaluate(p, targets, request, out);
          EXPECT_EQ(out.sum, wide.sum);
          EXPECT_EQ(out.count, wide.count);
          EXPECT_TRUE(same_bits(out.gradient, wide.gradient.to(dtype)));
          ASSERT_EQ(out.probe.defined(), wide.probe.defined());
          if (wide.probe.defined()) {
            EXPECT_TRUE(same_bits(out.probe, wide.probe.to(dtype)));
          }
        }
      }
      EXPECT_TRUE(
          same_bits(loss->second_derivatives(p, targets), loss->second_derivatives(p.to(torch::kFloat32), targets)));
      EXPECT_TRUE(same_bits(loss->hessian(p, targets), loss->hessian(p.to(torch::kFloat32), targets)));
    }
  }
}

TEST(SixteenBit, TargetsMayHaveThePredictionsType) {
  const Tensor p = torch::randn({7, 5}).to(torch::kBFloat16);
  const Tensor y = torch::rand({7, 5}).to(torch::kBFloat16);
  const MeanSquaredError loss;
  const auto found = loss.evaluate(p, y, {Probe::imitation});
  const auto expected = loss.evaluate(p.to(torch::kFloat32), y.to(torch::kFloat32), {Probe::imitation});
  EXPECT_EQ(found.sum, expected.sum);
  EXPECT_TRUE(same_bits(found.probe, expected.probe.to(torch::kBFloat16)));
}

TEST(SixteenBit, BuffersServeFloat32PredictionsNext) {
  const Tensor p = torch::randn({4, 3});
  const Tensor y = torch::rand({4, 3});
  const MeanSquaredError loss;
  Evaluation out;
  loss.evaluate(p.to(torch::kFloat16), y, {Probe::imitation}, out);
  loss.evaluate(p, y, {}, out);
  EXPECT_EQ(out.gradient.dtype(), torch::kFloat32);
  EXPECT_FALSE(out.probe.defined());
  EXPECT_TRUE(same_bits(out.gradient, loss.evaluate(p, y).gradient));
}

TEST(SixteenBit, LinearCrossEntropyComputesInFloat32) {
  torch::manual_seed(5);
  for (const auto dtype : {torch::kBFloat16, torch::kFloat16}) {
    const Tensor weight = torch::randn({11, 6}).to(dtype);
    const Tensor hidden = torch::randn({9, 6}).to(dtype);
    const Tensor labels = torch::arange(9);
    const ProbeRequest request{Probe::gauss_newton, Scale::mean, {.seed = 4, .step = 5}};
    const LinearCrossEntropy narrow(weight, {}, 4);
    const LinearCrossEntropy wide(weight.to(torch::kFloat32), {}, 4);
    const auto found = narrow.evaluate(hidden, labels, request);
    const auto expected = wide.evaluate(hidden.to(torch::kFloat32), labels, request);
    EXPECT_EQ(found.sum, expected.sum);
    EXPECT_TRUE(same_bits(found.gradient, expected.gradient.to(dtype)));
    EXPECT_TRUE(same_bits(found.probe, expected.probe.to(dtype)));
    EXPECT_TRUE(same_bits(found.parameter_gradients.at(0), expected.parameter_gradients.at(0)));
    EXPECT_TRUE(same_bits(found.parameter_probes.at(0), expected.parameter_probes.at(0)));
    EXPECT_EQ(narrow.value(hidden, labels).sum, expected.sum);
  }
}

}  // namespace
}  // namespace lehi
