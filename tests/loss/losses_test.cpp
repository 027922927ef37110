// The elementwise losses against torch's automatic differentiation: value, gradient, second derivatives. Then the
// theory of their probes.
#include "lehi/losses.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <memory>

#include "kernels/draws.h"
#include "support/support.h"

namespace lehi {
namespace {

using testing::gradient_of;
using testing::relative_difference;
using testing::same_bits;
using torch::Tensor;

struct Case {
  std::shared_ptr<Loss> loss;
  std::function<Tensor(const Tensor&, const Tensor&)> torch_loss;
  std::function<Tensor(const Tensor&)> targets;  // makes targets from uniform numbers
};

Tensor focal_by_torch(const Tensor& p, const Tensor& y, double gamma, double alpha) {
  const auto s = torch::sigmoid(p);
  const auto q = s * y + (1.0 - s) * (1.0 - y);
  const auto a = alpha * y + (1.0 - alpha) * (1.0 - y);
  return a * torch::pow(1.0 - q, gamma) * torch::binary_cross_entropy_with_logits(p, y, {}, {}, at::Reduction::None);
}

const std::vector<Case>& cases() {
  const auto any = [](const Tensor& x) { return 4.0 * x - 2.0; };
  const auto bit = [](const Tensor& x) { return (x < 0.5).to(x.dtype()); };
  static const std::vector<Case> all = {
      {std::make_shared<MeanSquaredError>(), [](const Tensor& p, const Tensor& y) { return 0.5 * (p - y).square(); },
       any},
      {std::make_shared<BinaryCrossEntropy>(),
       [](const Tensor& p, const Tensor& y) {
         return torch::binary_cross_entropy_with_logits(p, y, {}, {}, at::Reduction::None);
       },
       [](const Tensor& x) { return x; }},
      {std::make_shared<Huber>(0.8),
       [](const Tensor& p, const Tensor& y) { return torch::huber_loss(p, y, at::Reduction::None, 0.8); }, any},
      {std::make_shared<LogCosh>(), [](const Tensor& p, const Tensor& y) { return torch::log(torch::cosh(p - y)); },
       any},
      {std::make_shared<PoissonNll>(),
       [](const Tensor& p, const Tensor& y) {
         return torch::poisson_nll_loss(p, y, true, false, 1e-8, at::Reduction::None);
       },
       [](const Tensor& x) { return torch::floor(6.0 * x); }},
      {std::make_shared<SquaredHinge>(),
       [](const Tensor& p, const Tensor& y) { return torch::relu(1.0 - y * p).square(); },
       [bit](const Tensor& x) { return 2.0 * bit(x) - 1.0; }},
      {std::make_shared<Focal>(2.0, 0.25),
       [](const Tensor& p, const Tensor& y) { return focal_by_torch(p, y, 2.0, 0.25); }, bit},
      {std::make_shared<Focal>(0.5, 0.6),
       [](const Tensor& p, const Tensor& y) { return focal_by_torch(p, y, 0.5, 0.6); }, bit},
  };
  return all;
}

struct Batch {
  Tensor predictions, targets;
};

Batch batch_for(const Case& c, at::IntArrayRef sizes, torch::Dtype dtype = torch::kFloat64) {
  return {1.5 * torch::randn(sizes, dtype), c.targets(torch::rand(sizes, dtype))};
}

TEST(ElementwiseLosses, AgreeWithTorch) {
  torch::manual_seed(1);
  for (const Case& c : cases()) {
    const auto [p, y] = batch_for(c, {41, 7});
    const auto x = p.clone().requires_grad_();
    const auto value = c.torch_loss(x, y).sum();
    const auto u = gradient_of(value, x);
    // Huber's second derivative is 0 beyond delta, where torch's graph of u is a constant.
    const auto second = gradient_of(u.sum(), x).detach();
    const auto found = c.loss->evaluate(p, y);
    const auto name = c.loss->name();
    EXPECT_NEAR(found.sum, value.item<double>(), 1e-12 * value.item<double>()) << name;
    EXPECT_EQ(found.count, 41.0);
    EXPECT_EQ(found.rows, 41);
    EXPECT_DOUBLE_EQ(found.mean(), found.sum / 41.0);
    EXPECT_FALSE(found.probe.defined());
    EXPECT_LE(relative_difference(found.gradient, u), 1e-12) << name;
    EXPECT_LE(relative_difference(c.loss->second_derivatives(p, y), second), 1e-12) << name;
    EXPECT_TRUE(torch::allclose(c.loss->hessian(p, y), torch::diag_embed(second), 1e-10, 1e-12)) << name;
  }
}

TEST(ElementwiseLosses, Float32IsFloat64Rounded) {
  torch::manual_seed(2);
  for (const Case& c : cases()) {
    const auto [p, y] = batch_for(c, {41, 7}, torch::kFloat32);
    const auto narrow = c.loss->evaluate(p, y, {Probe::imitation});
    const auto wide = c.loss->evaluate(p.to(torch::kFloat64), y.to(torch::kFloat64), {Probe::imitation});
    EXPECT_EQ(narrow.sum, wide.sum) << c.loss->name();
    EXPECT_TRUE(same_bits(narrow.gradient, wide.gradient.to(torch::kFloat32))) << c.loss->name();
    EXPECT_TRUE(same_bits(narrow.probe, wide.probe.to(torch::kFloat32))) << c.loss->name();
  }
}

TEST(ElementwiseLosses, SquaredImitationAndDiagonalAreTheSecondDerivatives) {
  torch::manual_seed(3);
  for (const Case& c : cases()) {
    const auto [p, y] = batch_for(c, {23, 3});
    const auto second = c.loss->second_derivatives(p, y).abs();
    for (const Probe probe : {Probe::imitation, Probe::diagonal}) {
      const auto v = c.loss->evaluate(p, y, {probe}).probe;
      EXPECT_TRUE((v >= 0.0).all().item<bool>()) << c.loss->name();
      EXPECT_LE(relative_difference(v.square(), second), 1e-14) << c.loss->name();
    }
  }
}

TEST(ElementwiseLosses, GaussNewtonIsTheSignedRoot) {
  torch::manual_seed(4);
  const RandomKey key = {5, 6, 7, 8};
  for (const Case& c : cases()) {
    if (!c.loss->supports(Probe::gauss_newton)) continue;
    const auto [p, y] = batch_for(c, {23, 3});
    const auto v = c.loss->evaluate(p, y, {Probe::gauss_newton, Scale::sqrt_n, key}).probe;
    const auto root = c.loss->second_derivatives(p, y).sqrt();
    const auto signs = torch::empty({23, 3}, torch::kFloat64);
    for (std::int64_t row = 0; row < 23; ++row) {
      kernels::Draws(key).signs(row, 3, signs.data_ptr<double>() + 3 * row);
    }
    EXPECT_LE(relative_difference(v, root * signs), 1e-14) << c.loss->name();
  }
}

// E[v] = 0 and E[v^2] = l'' for labels drawn from the model, within five standard deviations (level 6e-7).
TEST(ElementwiseLosses, SampledLabelsHaveTheFisherMoments) {
  constexpr std::int64_t rows = 100000;
  for (const Case& c : cases()) {
    if (!c.loss->supports(Probe::sampled_label)) continue;
    for (const double logit : {-1.3, 0.4, 3.5}) {
      const auto p = torch::full({rows}, logit, torch::kFloat64);
      const auto y = torch::ones({rows}, torch::kFloat64);
      const auto v = c.loss->evaluate(p, y, {Probe::sampled_label, Scale::mean, {1, 2, 3, 4}}).probe;
      const double second = c.loss->second_derivatives(p.slice(0, 0, 1), y.slice(0, 0, 1)).item<double>();
      const double spread = v.square().std().item<double>();
      EXPECT_LT(std::abs(v.mean().item<double>()), 5.0 * std::sqrt(second / rows)) << c.loss->name();
      EXPECT_LE(std::abs(v.square().mean().item<double>() - second), 5.0 * spread / std::sqrt(rows)) << c.loss->name();
    }
  }
}

TEST(BinaryCrossEntropy, SampledLabelIsAGradientAtZeroOrOne) {
  const BinaryCrossEntropy loss;
  const auto p = torch::linspace(-3.0, 3.0, 200, torch::kFloat64);
  const auto v = loss.evaluate(p, torch::zeros_like(p), {Probe::sampled_label}).probe;
  const auto s = torch::sigmoid(p);
  const auto is_zero = (v - s).abs() < 1e-15;
  const auto is_one = (v - (s - 1.0)).abs() < 1e-15;
  EXPECT_TRUE((is_zero ^ is_one).all().item<bool>());
  EXPECT_TRUE(is_zero.any().item<bool>());
  EXPECT_TRUE(is_one.any().item<bool>());
}

TEST(ElementwiseLosses, StayFiniteWhereTheResultIs) {
  const auto far = torch::tensor({1e4, -1e4, 700.0, -700.0}, torch::kFloat64);
  const auto one = torch::ones_like(far);
  const auto bce = BinaryCrossEntropy().evaluate(far, one, {Probe::imitation});
  EXPECT_EQ(bce.sum, 1e4 + 700.0);
  EXPECT_GT(bce.probe[2].item<double>(),
            0.0);  // exp(-350), although sigma (1 - sigma) = exp(-700) is nearly out of range
  const auto log_cosh = LogCosh().evaluate(far, one - 1.0, {Probe::imitation});
  EXPECT_DOUBLE_EQ(log_cosh.sum, 21400.0 - 4.0 * std::log(2.0));
  EXPECT_TRUE(torch::isfinite(log_cosh.probe).all().item<bool>());
  const auto poisson = PoissonNll().evaluate(-far.abs(), one, {Probe::imitation});
  EXPECT_DOUBLE_EQ(poisson.sum, 21400.0);
  const auto focal = Focal().evaluate(far, one, {Probe::imitation});
  EXPECT_TRUE(std::isfinite(focal.sum));
  EXPECT_TRUE(torch::isfinite(focal.gradient).all().item<bool>());
  EXPECT_TRUE(torch::isfinite(focal.probe).all().item<bool>());
}

// log cosh e = e^2/2 - e^4/12 + ...: no cancellation near zero.
TEST(LogCosh, IsPreciseNearZero) {
  const auto e = torch::tensor({1e-8}, torch::kFloat64);
  EXPECT_NEAR(LogCosh().evaluate(e, torch::zeros_like(e)).sum, 5e-17, 5e-17 * 1e-14);
}

TEST(Focal, WithoutFocusIsHalfOfBinaryCrossEntropy) {
  torch::manual_seed(5);
  const auto p = torch::randn({50}, torch::kFloat64);
  const auto y = (torch::rand({50}) < 0.5).to(torch::kFloat64);
  const auto focal = Focal(0.0, 0.5).evaluate(p, y);
  const auto bce = BinaryCrossEntropy().evaluate(p, y);
  EXPECT_NEAR(focal.sum, 0.5 * bce.sum, 1e-13);
  EXPECT_LE(relative_difference(2.0 * focal.gradient, bce.gradient), 1e-14);
}

TEST(Focal, HasNegativeCurvatureFarOnTheWrongSide) {
  const auto p = torch::tensor({-6.0}, torch::kFloat64);
  EXPECT_LT(Focal().second_derivatives(p, torch::ones_like(p)).item<double>(), 0.0);
}

TEST(ElementwiseLosses, ProbesByLoss) {
  const auto probes = [](const Loss& loss) {
    std::string text;
    for (const Probe probe : all_probes()) {
      if (loss.supports(probe)) text += std::string(name(probe)) + " ";
    }
    return text;
  };
  const std::string all = "gradient imitation diagonal gauss-newton sampled-label ";
  const std::string no_labels = "gradient imitation diagonal gauss-newton ";
  EXPECT_EQ(probes(MeanSquaredError()), all);
  EXPECT_EQ(probes(BinaryCrossEntropy()), all);
  EXPECT_EQ(probes(PoissonNll()), all);
  EXPECT_EQ(probes(Huber()), no_labels);
  EXPECT_EQ(probes(LogCosh()), no_labels);
  EXPECT_EQ(probes(SquaredHinge()), no_labels);
  EXPECT_EQ(probes(Focal()), "gradient imitation diagonal ");
}

}  // namespace
}  // namespace lehi
