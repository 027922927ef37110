// The published bound: its value against independent arithmetic, a run that stays below it, and one that exceeds it.
#include "lehi/bound.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "lehi/loss.h"
#include "lehi/presets.h"
#include "support/support.h"

namespace lehi {
namespace {

using testing::message_of;

struct Case {
  BoundConstants constants;
  double gap_term;
  double log_term;
  double drift_term;
  double value;
};

// The right-hand side of Theorem 3.2 typed into Python's mpmath 1.2.1 with 40 digits, inputs as decimal strings.
TEST(Bound, AgreesWithFortyDigitArithmetic) {
  const Case cases[] = {
      {{.lr = 0.5, .beta1 = 0.25, .beta2 = 0.5, .eps = 1, .dimension = 1, .gradient_bound = 2, .steps = 4},
       2.1818181818181818,
       101.86172402035355,
       128.53518486905095,
       232.57872707122268},
      {{.dimension = 10, .lipschitz = 2, .initial_gap = 3, .steps = 1000},
       6.0544904137235116,
       894.75824238407152,
       38.878299121356589,
       939.69103191915162},
      {{.lr = 1e-3,
        .beta1 = 0.9,
        .beta2 = 0.999999,
        .eps = 1e-8,
        .dimension = 3,
        .gradient_bound = std::sqrt(1 + 1e-8),
        .initial_gap = 5,
        .steps = 10'000'000},
       0.0010000009050008145,
       1.3442677199154621,
       0.41700596048790626,
       1.7622736813083692},
  };
  for (const auto& c : cases) {
    const auto bound = convergence_bound(c.constants);
    // 1 - b2 of the last case keeps 10 of a double's 16 digits: 0.999999 is not exact in binary.
    constexpr double relative = 1e-9;
    EXPECT_NEAR(bound.gap_term, c.gap_term, relative * c.gap_term);
    EXPECT_NEAR(bound.log_term, c.log_term, relative * c.log_term);
    EXPECT_NEAR(bound.drift_term, c.drift_term, relative * c.drift_term);
    EXPECT_NEAR(bound.value, c.value, relative * c.value);
  }
}

TEST(Bound, IsVacuousExactlyWhenNotBelowTheTrivialOne) {
  BoundConstants constants = {
      .lr = 0.01, .beta1 = 0, .beta2 = 0.9999, .eps = 1e-4, .dimension = 7, .gradient_bound = 3};
  constants.steps = 1'000;
  const auto short_run = convergence_bound(constants);
  EXPECT_DOUBLE_EQ(short_run.trivial, 63);
  EXPECT_GT(short_run.value, short_run.trivial);
  EXPECT_TRUE(short_run.vacuous);
  constants.steps = 100'000'000;
  const auto long_run = convergence_bound(constants);
  EXPECT_LT(long_run.value, long_run.trivial);
  EXPECT_FALSE(long_run.vacuous);
}

TEST(Bound, NamesTheConstantOutOfRange) {
  const auto message = [](const std::function<void(BoundConstants&)>& change) {
    BoundConstants constants;
    change(constants);
    return message_of([&] { convergence_bound(constants); });
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message([](auto&) {}), "");
  EXPECT_EQ(message([](auto& c) { c.lr = 0; }), "convergence bound: the learning rate must be above 0, not 0");
  EXPECT_EQ(message([](auto& c) { c.lr = nan; }), "convergence bound: the learning rate must be above 0, not nan");
  EXPECT_EQ(message([](auto& c) { c.beta2 = 1; }), "convergence bound: beta2 must be between 0 and 1, not 1");
  EXPECT_EQ(message([](auto& c) { c.beta1 = 0.999; }),
            "convergence bound: beta1 must be at least 0 and below beta2 = 0.999, not 0.999");
  EXPECT_EQ(message([](auto& c) { c.eps = -1; }), "convergence bound: eps must be above 0, not -1");
  EXPECT_EQ(message([](auto& c) { c.dimension = 0.5; }),
            "convergence bound: the dimension must be at least 1, not 0.5");
  EXPECT_EQ(message([](auto& c) { c.eps = 4, c.gradient_bound = 2; }),
            "convergence bound: the gradient bound M must be above sqrt(eps) = 2, not 2, since |g| <= sqrt(M^2 - eps)");
  EXPECT_EQ(message([](auto& c) { c.lipschitz = 0; }),
            "convergence bound: the Lipschitz constant must be above 0, not 0");
  EXPECT_EQ(message([](auto& c) { c.initial_gap = -1; }),
            "convergence bound: the initial gap must be at least 0, not -1");
  EXPECT_EQ(message([](auto& c) { c.beta1 = 0.5, c.steps = 2; }),
            "convergence bound: it needs more than 1/(1 - beta1) = 2 steps, not 2");
  EXPECT_EQ(message([](auto& c) { c.lipschitz = 1 / 0.0; }), "convergence bound: every constant must be finite");
}

TEST(IterateAverage, WeighsLateIteratesLess) {
  // Weights 1 - b1^(K-k+1) with b1 = 1/2, K = 3: 7/8, 3/4, 1/2.
  EXPECT_DOUBLE_EQ(iterate_average({8, 0, 0}, 0.5), 7 / 2.125);
  EXPECT_DOUBLE_EQ(iterate_average({0, 4, 0}, 0.5), 3 / 2.125);
  EXPECT_DOUBLE_EQ(iterate_average({0, 0, 2}, 0.5), 1 / 2.125);
  EXPECT_DOUBLE_EQ(iterate_average({1, 2, 6}, 0), 3);  // the plain mean
  EXPECT_NE(message_of([] { iterate_average({}, 0.5); }), "");
  EXPECT_NE(message_of([] { iterate_average({1}, 1); }), "");
}

// f(w) = sum_i sqrt(1 + w_i^2): convex, gradient in (-1, 1), 1-Lipschitz, inf f = d. Its "imitation" is the s = 0 of
// the counterexample.
class Hyperbola final : public Loss {
 public:
  std::string name() const override { return "hyperbola"; }
  bool supports(Probe probe) const override { return probe == Probe::gradient || probe == Probe::imitation; }
  torch::Tensor second_derivatives(const torch::Tensor& p, const torch::Tensor& /*targets*/) const override {
    return (1 + p * p).pow(-1.5);
  }

 protected:
  void compute(const torch::Tensor& p, const torch::Tensor& /*targets*/, const ProbeRequest& /*request*/,
               Evaluation& out) const override {
    const auto root = torch::sqrt(1 + p * p);
    out.sum = root.sum().item<double>();
    out.count = out.rows = 1;
    out.gradient.copy_(p / root);
    if (out.probe.defined()) out.probe.zero_();
  }
};

// Algorithms 1 and 2 of the paper in plain doubles, for one weight.
class ScalarRule {
 public:
  ScalarRule(double a, double b1, double b2, double eps) : a_(a), b1_(b1), b2_(b2), eps_(eps) {}

  double next(double w, double g, double s) {
    m_ = b1_ * m_ + g;
    v_ = b2_ * v_ + s * s;
    power_ *= b2_;
    return w - a_ * (1 - b1_) * std::sqrt(1 - power_) / std::sqrt(1 - b2_) * m_ / std::sqrt(eps_ + v_);
  }

 private:
  double a_, b1_, b2_, eps_;
  double m_ = 0.0;
  double v_ = 0.0;
  double power_ = 1.0;
};

double slope(double w) { return w / std::sqrt(1 + w * w); }

// The runs below take the library's steps: compared for the first hundred.
template <class O>
void expect_library_takes_the_same_steps(O&& optimizer, torch::Tensor& w, const std::function<void()>& scalar_step,
                                         const std::vector<double>& scalar_w) {
  const Hyperbola loss;
  const auto targets = torch::zeros_like(w).unsqueeze(0);
  for (int step = 0; step < 100; ++step) {
    optimizer.step(w.unsqueeze(0), loss, targets);
    scalar_step();
    // The same operations, rounded in another order; nothing amplifies the difference.
    ASSERT_LE(testing::relative_difference(w, torch::tensor(scalar_w, torch::kFloat64)), 1e-12) << "step " << step;
  }
}

TEST(Bound, AdamSimplifiedStaysUnderItWhereItIsNotVacuous) {
  constexpr std::size_t d = 3;
  constexpr std::array<double, d> start = {1, -2, 3};
  struct Setting {
    double b1, b2, noise;
  };
  // With noise, g = grad f +- 1: unbiased, and bounded by 2. One long run approximates the expectation.
  for (const auto& [b1, b2, noise] : {Setting{0, 0.9999, 0}, Setting{0.9, 0.999996, 0}, Setting{0.9, 0.999996, 1}}) {
    BoundConstants constants = {.lr = 1e-3, .beta1 = b1, .beta2 = b2, .eps = 1e-2, .dimension = d};
    constants.gradient_bound = std::sqrt((1 + noise) * (1 + noise) + constants.eps);
    constants.initial_gap = std::sqrt(2.0) + std::sqrt(5.0) + std::sqrt(10.0) - d;
    constants.steps = 4'000'000;
    const auto bound = convergence_bound(constants);
    ASSERT_FALSE(bound.vacuous);
    // Stronger than the definition of vacuous: without noise, f itself implies |grad f|^2 < d.
    if (noise == 0) {
      ASSERT_LT(bound.value, d);
    }

    std::vector<double> squares(static_cast<std::size_t>(constants.steps), 0.0);
    for (std::size_t i = 0; i < d; ++i) {
      ScalarRule rule(constants.lr, b1, b2, constants.eps);
      double w = start[i];
      std::uint64_t bits = 88172645463325252U + i;
      for (auto& square : squares) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;  // Marsaglia's xorshift64
        const double gradient = slope(w);
        square += gradient * gradient;
        const double g = gradient + ((bits >> 32) % 2 == 0 ? noise : -noise);
        w = rule.next(w, g, g);
      }
    }
    const double measured = iterate_average(squares, b1);
    EXPECT_GT(measured, 0);
    EXPECT_LT(measured, bound.value);
  }
}

TEST(Bound, TheRunUnderItIsTheLibrarysAdamSimplified) {
  std::vector<double> plain = {1, -2, 3};
  std::vector<ScalarRule> rules(3, ScalarRule(1e-3, 0.9, 0.999996, 1e-2));
  auto w = torch::tensor(plain, torch::kFloat64).requires_grad_(true);
  expect_library_takes_the_same_steps(
      AdamSimplified(std::vector<torch::Tensor>{w}, AdamSimplifiedOptions(1e-3).betas(0.9, 0.999996).eps(1e-2)), w,
      [&] {
        for (std::size_t i = 0; i < 3; ++i) plain[i] = rules[i].next(plain[i], slope(plain[i]), slope(plain[i]));
      },
      plain);
}

// docs/evidence/theory.md: every assumption of the theorem holds, and the run exceeds it by a factor of five.
TEST(Bound, LehiWithASilentProbeExceedsIt) {
  const double eps = 1e-12;
  const BoundConstants constants = {.lr = 0.01,
                                    .beta1 = 0,
                                    .beta2 = 0.9999,
                                    .eps = eps,
                                    .dimension = 1,
                                    .gradient_bound = std::sqrt(1 + eps),
                                    .lipschitz = 1,
                                    .initial_gap = std::sqrt(2.0) - 1,
                                    .steps = 1'000'000};
  const auto bound = convergence_bound(constants);
  EXPECT_NEAR(bound.value, 0.177983113080289, 1e-10);  // mpmath, as above
  EXPECT_FALSE(bound.vacuous);

  ScalarRule rule(constants.lr, constants.beta1, constants.beta2, eps);
  std::vector<double> squares;
  double w = 1;
  for (std::int64_t k = 0; k < constants.steps; ++k) {
    const double g = slope(w);
    ASSERT_LE(std::abs(g), std::sqrt(constants.gradient_bound * constants.gradient_bound - eps));
    squares.push_back(g * g);
    w = rule.next(w, g, 0);
  }
  const double measured = iterate_average(squares, constants.beta1);
  EXPECT_NEAR(measured, 1.0, 5e-3);
  EXPECT_GT(measured, 5 * bound.value);
}

TEST(Bound, TheRunAboveItIsTheLibrarysLehi) {
  std::vector<double> plain = {1};
  ScalarRule rule(0.01, 0, 0.9999, 1e-12);
  auto w = torch::tensor(plain, torch::kFloat64).requires_grad_(true);
  expect_library_takes_the_same_steps(
      Lehi(std::vector<torch::Tensor>{w}, LehiOptions(0.01).betas(0, 0.9999).eps(1e-12)), w,
      [&] { plain[0] = rule.next(plain[0], slope(plain[0]), 0); }, plain);
}

}  // namespace
}  // namespace lehi
