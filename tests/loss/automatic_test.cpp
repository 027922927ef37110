// Automatic against the losses written by hand, and its errors.
#include "lehi/automatic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <map>

#include "kernels/draws.h"
#include "lehi/cross_entropy.h"
#include "lehi/error.h"
#include "lehi/losses.h"
#include "support/support.h"

namespace lehi {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::relative_difference;
using torch::Tensor;

Tensor bce_function(const Tensor& p, const Tensor& y) {
  return torch::binary_cross_entropy_with_logits(p, y, {}, {}, at::Reduction::None);
}

// One loss per row, coupled through the softmax.
Tensor softmax_function(const Tensor& p, const Tensor& y) {
  return torch::logsumexp(p, -1) - p.gather(-1, y.unsqueeze(-1)).squeeze(-1);
}

AutomaticOptions named(const char* name, std::int64_t exact_outputs = 64, std::int64_t samples = 8) {
  AutomaticOptions options;
  options.name = name;
  options.exact_outputs = exact_outputs;
  options.samples = samples;
  return options;
}

TEST(Automatic, ElementwiseAgreesWithTheLossByHand) {
  torch::manual_seed(1);
  const Automatic automatic(bce_function, named("mine"));
  const BinaryCrossEntropy by_hand;
  EXPECT_EQ(automatic.name(), "mine");
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{{17}, {17, 1}, {9, 4}, {2, 3, 4}}) {
    const auto p = torch::randn(sizes, torch::kFloat64);
    const auto y = torch::rand(sizes, torch::kFloat64);
    for (const Probe probe : {Probe::gradient, Probe::imitation, Probe::diagonal, Probe::gauss_newton}) {
      const ProbeRequest request = {probe, Scale::sqrt_n, {1, 2, 3, 4}};
      const auto a = automatic.evaluate(p, y, request);
      const auto b = by_hand.evaluate(p, y, request);
      EXPECT_NEAR(a.sum, b.sum, 1e-13 * b.sum);
      EXPECT_EQ(a.count, b.count);
      EXPECT_EQ(a.rows, b.rows);
      EXPECT_LE(relative_difference(a.gradient, b.gradient), 1e-13);
      EXPECT_EQ(a.probe.defined(), b.probe.defined());
      if (probe != Probe::gradient) {
        EXPECT_LE(relative_difference(a.probe, b.probe), 1e-13) << name(probe);
        EXPECT_FALSE(a.probe.requires_grad());
      }
    }
    EXPECT_LE(relative_difference(automatic.second_derivatives(p, y), by_hand.second_derivatives(p, y)), 1e-13);
    EXPECT_LE(relative_difference(automatic.hessian(p, y), by_hand.hessian(p, y)), 1e-13);
  }
}

TEST(Automatic, CoupledOutputsAgreeWithCrossEntropy) {
  torch::manual_seed(2);
  const Automatic automatic(softmax_function);
  const CrossEntropy by_hand;
  const auto p = torch::randn({2, 5, 4}, torch::kFloat64);
  const auto y = torch::randint(4, {2, 5}, torch::kInt64);
  const auto a = automatic.evaluate(p, y, {Probe::diagonal});
  const auto b = by_hand.evaluate(p, y, {Probe::diagonal});
  EXPECT_NEAR(a.sum, b.sum, 1e-13 * b.sum);
  EXPECT_LE(relative_difference(a.gradient, b.gradient), 1e-13);
  EXPECT_LE(relative_difference(a.probe, b.probe), 1e-13);
  EXPECT_LE(relative_difference(automatic.evaluate(p, y, {Probe::imitation}).probe, b.probe), 1e-13);
  EXPECT_LE(relative_difference(automatic.hessian(p, y), by_hand.hessian(p, y)), 1e-12);
  // The same with losses of shape [rows].
  const Automatic flat([](const Tensor& x, const Tensor& t) { return softmax_function(x, t).flatten(); });
  EXPECT_LE(relative_difference(flat.evaluate(p, y, {Probe::diagonal}).probe, b.probe), 1e-13);
}

TEST(Automatic, CoupledGaussNewtonHasExactlyTheHessianAsSecondMoment) {
  const RandomKey key = {1, 2, 3, 4};
  constexpr std::int64_t rows = 200;
  const Automatic automatic(softmax_function);
  const auto p = torch::tensor({1.0, -2.0, 0.5}, torch::kFloat64).expand({rows, 3});
  const auto y = torch::zeros({rows}, torch::kInt64);
  const auto v = automatic.evaluate(p, y, {Probe::gauss_newton, Scale::sqrt_n, key}).probe;
  std::map<std::vector<double>, std::int64_t> patterns;
  std::vector<double> signs(3);
  for (std::int64_t row = 0; row < rows; ++row) {
    kernels::Draws(key).signs(row, 3, signs.data());
    patterns.emplace(signs, row);
  }
  ASSERT_EQ(patterns.size(), 8U);
  auto moment = torch::zeros({3, 3}, torch::kFloat64);
  for (const auto& [pattern, row] : patterns) moment += torch::outer(v[row], v[row]) / 8.0;
  EXPECT_LE(relative_difference(moment, CrossEntropy().hessian(p, y)[0]), 1e-12);
}

// Each estimate is unbiased with independent signs per row: the mean over rows within five standard errors
// (level 6e-7).
TEST(Automatic, ManyCoupledOutputsAreEstimatedWithoutBias) {
  constexpr std::int64_t rows = 20000;
  const auto p = torch::tensor({1.0, -1.0, 0.5, 0.2, 0.0}, torch::kFloat64).expand({rows, 5});
  const auto y = torch::zeros({rows}, torch::kInt64);
  const auto truth = CrossEntropy().second_derivatives(p, y)[0];
  const auto one = Automatic(softmax_function, named("few", 2, 1)).second_derivatives(p, y);
  const auto eight = Automatic(softmax_function, named("few", 2, 8)).second_derivatives(p, y);
  EXPECT_TRUE(((one.mean(0) - truth).abs() <= 5.0 * one.std(0) / std::sqrt(rows)).all().item<bool>());
  EXPECT_TRUE(((eight.mean(0) - truth).abs() <= 5.0 * eight.std(0) / std::sqrt(rows)).all().item<bool>());
  EXPECT_TRUE((one.std(0) > 0.0).all().item<bool>());
  // Eight samples have an eighth of the variance, whose estimate is good to about 2 % here.
  EXPECT_NEAR((eight.var(0) / one.var(0)).mean().item<double>(), 0.125, 0.01);
}

TEST(Automatic, EstimatesDependOnTheGlobalRowOnly) {
  torch::manual_seed(3);
  const Automatic automatic(softmax_function, named("few", 2));
  const auto p = torch::randn({6, 5}, torch::kFloat64);
  const auto y = torch::zeros({6}, torch::kInt64);
  ProbeRequest request = {Probe::diagonal, Scale::sqrt_n, {1, 2, 0, 0}};
  const auto all = automatic.evaluate(p, y, request).probe;
  request.key.first_row = 4;
  const auto tail = automatic.evaluate(p.slice(0, 4), y.slice(0, 4), request).probe;
  // torch's sums and exponentials of two rows may round differently from those of six; other signs would
  // differ far more.
  EXPECT_LE(relative_difference(tail, all.slice(0, 4)), 1e-14);
}

TEST(Automatic, NegativeCurvatureEntersByItsAbsoluteValue) {
  const Automatic concave([](const Tensor& p, const Tensor& y) { return torch::cos(p - y); });
  const auto p = torch::tensor({0.3, 2.5}, torch::kFloat64);
  const auto y = torch::zeros_like(p);
  EXPECT_LE(relative_difference(concave.second_derivatives(p, y), -torch::cos(p)), 1e-15);
  EXPECT_LE(relative_difference(concave.evaluate(p, y, {Probe::imitation}).probe, torch::cos(p).abs().sqrt()), 1e-15);
  EXPECT_THROW(concave.evaluate(p, y, {Probe::gauss_newton}), std::invalid_argument);
  EXPECT_THAT(message_of([&] { concave.evaluate(p, y, {Probe::gauss_newton}); }),
              HasSubstr("the curvature of row 0 is negative (-0.95"));
}

TEST(Automatic, CoupledNegativeCurvatureThrowsWithItsRow) {
  const Automatic saddle(
      [](const Tensor& x, const Tensor&) { return x.select(1, 0).square() - x.select(1, 1).square(); });
  const auto pair = torch::ones({2, 2}, torch::kFloat64);
  EXPECT_THAT(message_of([&] { saddle.evaluate(pair, pair, {Probe::gauss_newton}); }),
              HasSubstr("the curvature of row 0 is negative (-2), so it has no gauss-newton factor"));
}

TEST(Automatic, ThrowsForALossWithoutCurvature) {
  const auto p = torch::tensor({0.3, 2.5});
  const auto y = torch::ones_like(p);
  const Automatic absolute([](const Tensor& a, const Tensor& b) { return (a - b).abs(); }, named("absolute-error"));
  const Automatic linear([](const Tensor& a, const Tensor& b) { return a * b; });
  EXPECT_NO_THROW(absolute.evaluate(p, y));  // the gradient probe works
  for (const Loss* loss : {static_cast<const Loss*>(&absolute), static_cast<const Loss*>(&linear)}) {
    EXPECT_THROW(loss->evaluate(p, y, {Probe::imitation}), std::invalid_argument);
    EXPECT_THAT(message_of([&] { loss->evaluate(p, y, {Probe::imitation}); }), HasSubstr("a loss without curvature"));
  }
}

// After a batch with curvature, one in the linear part of a Huber-like loss is accepted.
TEST(Automatic, ABatchWithoutCurvatureIsFineLater) {
  const Automatic huber(
      [](const Tensor& a, const Tensor& b) { return torch::huber_loss(a, b, at::Reduction::None, 1.0); });
  const auto near = torch::tensor({0.3});
  const auto far = torch::tensor({30.0});
  const auto y = torch::zeros({1});
  EXPECT_EQ(huber.evaluate(near, y, {Probe::diagonal}).probe.item<float>(), 1.0F);
  EXPECT_EQ(huber.evaluate(far, y, {Probe::diagonal}).probe.item<float>(), 0.0F);
}

// A batch with neither gradient nor curvature does not show whether the loss has curvature: the next one is checked.
TEST(Automatic, AFirstBatchBeyondTheMarginIsAccepted) {
  const Automatic hinge([](const Tensor& a, const Tensor& b) { return (1 - a * b).clamp_min(0).square(); });
  const auto y = torch::ones({1});
  EXPECT_EQ(hinge.evaluate(torch::tensor({3.0}), y, {Probe::diagonal}).probe.item<float>(), 0.0F);
  EXPECT_NEAR(hinge.evaluate(torch::tensor({0.5}), y, {Probe::diagonal}).probe.item<double>(), std::sqrt(2.0), 1e-6);
}

TEST(Automatic, ThrowsForLossesThatDependOnOtherOutputsOrRows) {
  torch::manual_seed(4);
  const auto p = torch::randn({5, 3}, torch::kFloat64);
  const Automatic outputs([](const Tensor& a, const Tensor&) { return -torch::log_softmax(a, -1); }, named("mine"));
  EXPECT_THAT(message_of([&] { outputs.evaluate(p, p, {Probe::diagonal}); }),
              HasSubstr("mine: the function returned one loss per output, but some depend on other outputs too"));
  const Automatic rows([](const Tensor& a, const Tensor&) { return (a - a.mean(0, true)).square().sum(-1); });
  EXPECT_THAT(message_of([&] { rows.evaluate(p, p, {Probe::diagonal}); }), HasSubstr("depend on other rows too"));
}

TEST(Automatic, ThrowsForInvalidFunctions) {
  const auto p = torch::ones({4, 3});
  const auto message = [&](Automatic::Function function, Probe probe = Probe::gradient) {
    const Automatic loss(std::move(function), named("mine"));
    return message_of([&] { loss.evaluate(p, p, {probe}); });
  };
  EXPECT_THAT(message([](const Tensor& a, const Tensor&) { return a.square().mean(); }),
              HasSubstr("mine: the function returned losses of shape [] for predictions of shape [4, 3]; expected the "
                        "predictions' shape, or one loss per row, [4], not their sum or mean"));
  EXPECT_THAT(message([](const Tensor& a, const Tensor&) { return a.square().sum(0); }),
              HasSubstr("losses of shape [3]"));
  EXPECT_THAT(message([](const Tensor&, const Tensor&) { return Tensor(); }), HasSubstr("undefined tensor"));
  EXPECT_THAT(message([](const Tensor&, const Tensor& b) { return b; }),
              HasSubstr("does not depend on the predictions"));
  EXPECT_THAT(message([](const Tensor& a, const Tensor&) { return a.detach(); }), HasSubstr("does not depend"));
  EXPECT_THAT(message([](const Tensor& a, const Tensor&) { return a.square(); }, Probe::sampled_label),
              HasSubstr("mine has no sampled-label probe; it has gradient, imitation, diagonal, gauss-newton"));
  EXPECT_THAT(message_of([] { Automatic(nullptr, {}); }), HasSubstr("the function is empty"));
  EXPECT_THAT(message_of([] { Automatic(bce_function, named("mine", -1)); }), HasSubstr("exact_outputs is -1"));
  EXPECT_THAT(message_of([] { Automatic(bce_function, named("mine", 1, 0)); }), HasSubstr("samples is 0"));
  const Automatic many(softmax_function, named("many", 2));
  EXPECT_THAT(message_of([&] { many.evaluate(p, torch::zeros({4}, torch::kInt64), {Probe::gauss_newton}); }),
              HasSubstr("computed for at most 2 outputs, not 3"));
}

TEST(Automatic, ThrowsForANonFiniteLoss) {
  const Automatic loss([](const Tensor& p, const Tensor&) { return torch::log(p); });
  const auto p = torch::tensor({1.0, -1.0});
  EXPECT_THROW(loss.evaluate(p, p), NonFiniteError);
  EXPECT_THAT(message_of([&] { loss.evaluate(p, p); }), HasSubstr("loss number 1 is "));
}

TEST(Automatic, WorksInsideNoGradAndLeavesTheUsersGraphAlone) {
  const Automatic loss([](const Tensor& p, const Tensor& y) { return (p - y).pow(4); });
  const auto weight = torch::ones({3}, torch::requires_grad());
  const auto predictions = 2.0 * weight;
  const auto y = torch::zeros({3});
  const torch::NoGradGuard no_grad;
  const auto found = loss.evaluate(predictions, y, {Probe::imitation});
  EXPECT_TRUE(torch::allclose(found.gradient, torch::full({3}, 32.0)));
  EXPECT_TRUE(torch::allclose(found.probe, torch::full({3}, std::sqrt(48.0))));
  EXPECT_FALSE(weight.grad().defined());
  EXPECT_FALSE(torch::GradMode::is_enabled());
}

}  // namespace
}  // namespace lehi
