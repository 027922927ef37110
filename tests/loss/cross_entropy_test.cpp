// Cross-entropy against torch and against its theory. The comparison with 60-digit values is in reference_test.cpp.
#include "lehi/cross_entropy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>

#include "kernels/draws.h"
#include "lehi/losses.h"
#include "support/support.h"

namespace lehi {
namespace {

namespace F = torch::nn::functional;
using testing::gradient_of;
using testing::relative_difference;
using testing::same_bits;
using torch::Tensor;

struct Variant {
  bool indices;
  bool weights;
  bool smoothing;
  bool ignore;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (int bits = 0; bits < 16; ++bits) {
    const Variant v = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
    if (v.indices || !v.ignore) all.push_back(v);
  }
  return all;
}

struct Problem {
  CrossEntropyOptions options;
  F::CrossEntropyFuncOptions torch_options;
  Tensor logits, targets;
};

Problem problem_of(const Variant& v, std::int64_t rows, std::int64_t classes) {
  Problem s;
  s.logits = 3.0 * torch::randn({rows, classes}, torch::kFloat64);
  s.targets = v.indices ? torch::randint(classes, {rows}, torch::kInt64)
                        : torch::softmax(torch::randn({rows, classes}, torch::kFloat64), -1);
  if (v.weights) {
    s.options.class_weights = torch::rand({classes}, torch::kFloat64) + 0.2;
    s.torch_options.weight(s.options.class_weights);
  }
  if (v.smoothing) {
    s.options.label_smoothing = 0.15;
    s.torch_options.label_smoothing(0.15);
  }
  if (v.ignore) {
    s.options.ignore_index = 2;  // a class that occurs
    s.torch_options.ignore_index(2);
  }
  return s;
}

TEST(CrossEntropy, AgreesWithTorchInEveryVariant) {
  torch::manual_seed(1);
  for (const Variant& variant : variants()) {
    const Problem s = problem_of(variant, 29, 6);
    const auto x = s.logits.clone().requires_grad_();
    const auto mean = F::cross_entropy(x, s.targets, s.torch_options);
    const auto found = CrossEntropy(s.options).evaluate(s.logits, s.targets);
    const std::string where =
        ::testing::PrintToString(std::tuple(variant.indices, variant.weights, variant.smoothing, variant.ignore));
    EXPECT_NEAR(found.mean(), mean.item<double>(), 1e-12 * mean.item<double>()) << where;
    EXPECT_LE(relative_difference(found.gradient / found.count, gradient_of(mean, x)), 1e-12) << where;
    EXPECT_EQ(found.rows, 29);
  }
}

// The sum over rows is torch's mean loss times its divisor. The derivatives are compared row by row: rows are
// independent.
TEST(CrossEntropy, SecondDerivativesAndHessianAgreeWithAutomaticDifferentiation) {
  torch::manual_seed(2);
  for (const Variant& variant : variants()) {
    const Problem s = problem_of(variant, 9, 5);
    const CrossEntropy loss(s.options);
    const auto x = s.logits.clone().requires_grad_();
    const double count = loss.evaluate(s.logits, s.targets).count;
    const auto u = gradient_of(F::cross_entropy(x, s.targets, s.torch_options) * count, x);
    std::vector<Tensor> columns;
    for (std::int64_t j = 0; j < 5; ++j) columns.push_back(gradient_of(u.select(1, j).sum(), x).detach());
    const auto hessian = torch::stack(columns, 2);
    EXPECT_LE(relative_difference(loss.hessian(s.logits, s.targets), hessian), 1e-12);
    EXPECT_LE(relative_difference(loss.second_derivatives(s.logits, s.targets), hessian.diagonal(0, 1, 2)), 1e-12);
    const auto diagonal = loss.evaluate(s.logits, s.targets, {Probe::diagonal}).probe;
    EXPECT_LE(relative_difference(diagonal.square(), hessian.diagonal(0, 1, 2)), 1e-12);
  }
}

// z by torch's own graph. Its arcsin(2 s - 1) loses log10(1/s) digits to cancellation: s > 1e-3 here, so 1e-12 is left.
TEST(CrossEntropy, ImitationIsTheGradientOfZ) {
  torch::manual_seed(3);
  for (const std::int64_t classes : {3, 4, 10, 37}) {
    const auto p = torch::randn({12, classes}, torch::kFloat64);
    const auto x = p.clone().requires_grad_();
    const auto z = torch::asin(2.0 * torch::softmax(x, -1) - 1.0).sum();
    const auto v = CrossEntropy().evaluate(p, torch::zeros({12}, torch::kInt64), {Probe::imitation}).probe;
    EXPECT_LE(relative_difference(v, gradient_of(z, x)), 1e-12) << classes;
  }
}

// The paper's r_i - s_i sum_k r_k in arithmetic of 64 bits, entry by entry. 1e-18 of its terms is that formula's own
// rounding error; 1e-15 of the diagonal sqrt(s (1 - s)) is the error of ours where terms of both signs cancel.
TEST(CrossEntropy, ImitationIsPreciseEntryByEntry) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  torch::manual_seed(4);
  for (const double spread : {1e-3, 1.0, 5.0, 12.0}) {
    const auto p = spread * torch::randn({40, 7}, torch::kFloat64);
    const auto v = CrossEntropy().evaluate(p, torch::zeros({40}, torch::kInt64), {Probe::imitation}).probe;
    for (std::int64_t row = 0; row < 40; ++row) {
      std::array<long double, 7> e = {};
      std::array<long double, 7> others = {};
      for (std::size_t i = 0; i < 7; ++i) {
        e[i] = std::exp(static_cast<long double>(p[row][static_cast<std::int64_t>(i)].item<double>()));
        for (std::size_t k = 0; k < 7; ++k) others[k] += k == i ? 0.0L : e[i];
      }
      long double sum_r = 0.0L;
      for (std::size_t i = 0; i < 7; ++i) sum_r += std::sqrt(e[i] / others[i]);
      for (std::size_t i = 0; i < 7; ++i) {
        const long double r = std::sqrt(e[i] / others[i]);
        const long double s = e[i] / (e[i] + others[i]);
        const long double expected = r - s * sum_r;
        const long double bound = 1e-12L * std::abs(expected) + 1e-18L * (r + s * sum_r) +
                                  1e-15L * std::sqrt(s * others[i] / (e[i] + others[i]));
        EXPECT_LE(std::abs(v[row][static_cast<std::int64_t>(i)].item<double>() - expected), bound)
            << "spread " << spread << " row " << row << " class " << i;
      }
    }
  }
}

// T_ik = -T_ki, so the entries add up to 0.
TEST(CrossEntropy, ImitationAddsUpToZero) {
  torch::manual_seed(5);
  const auto p = 4.0 * torch::randn({50, 101}, torch::kFloat64);
  const auto v = CrossEntropy().evaluate(p, torch::zeros({50}, torch::kInt64), {Probe::imitation}).probe;
  EXPECT_TRUE((v.sum(-1).abs() <= 1e-14 * v.abs().sum(-1)).all().item<bool>());
}

TEST(CrossEntropy, ImitationIsExactlyZeroAtEqualLogits) {
  for (const std::int64_t classes : {2, 3, 10, 1000, 128256}) {
    const auto p = torch::full({1, classes}, 1.7);
    const auto v = CrossEntropy().evaluate(p, torch::zeros({1}, torch::kInt64), {Probe::imitation}).probe;
    EXPECT_TRUE((v == 0.0).all().item<bool>()) << classes;
  }
}

TEST(CrossEntropy, HugeLogitsStayFiniteAndExact) {
  const auto p =
      torch::tensor({{1e4, -1e4, 0.0}, {-1e4, 1e4, 1e4}, {1e4, 1e4, 1e4}, {-1e4, -1e4, -1e4}}, torch::kFloat64);
  const auto y = torch::tensor({0, 0, 1, 2}, torch::kInt64);
  for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
    for (const Probe probe : all_probes()) {
      const auto found = CrossEntropy().evaluate(p.to(dtype), y, {probe});
      EXPECT_NEAR(found.sum, 0.0 + 2e4 + std::log(2.0) + 2.0 * std::log(3.0), 1e-11);
      EXPECT_TRUE(torch::isfinite(found.gradient).all().item<bool>());
      EXPECT_EQ(found.gradient[0].abs().sum().item<double>(), 0.0);
      if (probe != Probe::gradient) {
        EXPECT_TRUE(torch::isfinite(found.probe).all().item<bool>()) << name(probe);
      }
    }
  }
}

TEST(CrossEntropy, OneClassHasZeroGradients) {
  const auto p = torch::tensor({{3.0}, {-1e4}});
  for (const Probe probe : all_probes()) {
    const auto found = CrossEntropy().evaluate(p, torch::zeros({2}, torch::kInt64), {probe});
    EXPECT_EQ(found.sum, 0.0);
    EXPECT_EQ(found.gradient.abs().sum().item<double>(), 0.0);
    if (probe != Probe::gradient) {
      EXPECT_EQ(found.probe.abs().sum().item<double>(), 0.0) << name(probe);
    }
  }
}

TEST(CrossEntropy, TheVocabularyOfLlama) {
  torch::manual_seed(6);
  constexpr std::int64_t classes = 128256;
  const auto p = 4.0 * torch::randn({3, classes}, torch::kFloat64);
  const auto y = torch::tensor({5, 128255, 77}, torch::kInt64);
  const auto x = p.clone().requires_grad_();
  const auto value = F::cross_entropy(x, y, F::CrossEntropyFuncOptions().reduction(torch::kSum));
  const auto s = torch::softmax(p, -1);
  for (const Probe probe : all_probes()) {
    const auto found = CrossEntropy().evaluate(p, y, {probe});
    EXPECT_NEAR(found.sum, value.item<double>(), 1e-12 * value.item<double>());
    EXPECT_LE(relative_difference(found.gradient, gradient_of(value, x)), 1e-12);
    if (probe == Probe::gradient) continue;
    EXPECT_TRUE(torch::isfinite(found.probe).all().item<bool>()) << name(probe);
    EXPECT_NEAR(found.probe.sum(-1).abs().max().item<double>(),
                probe == Probe::diagonal ? (s * (1.0 - s)).sqrt().sum(-1).max().item<double>() : 0.0, 1e-10)
        << name(probe);
  }
  const auto r = torch::sqrt(s / (1.0 - s));
  const auto v = CrossEntropy().evaluate(p, y, {Probe::imitation}).probe;
  EXPECT_LE(relative_difference(v, r - s * r.sum(-1, true)), 1e-10);  // no class dominates: 1 - s does not cancel
}

TEST(CrossEntropy, TwoClassesHaveNoImitation) {
  torch::manual_seed(7);
  const auto p = 30.0 * torch::randn({100, 2}, torch::kFloat64);
  const auto v = CrossEntropy().evaluate(p, torch::ones({100}, torch::kInt64), {Probe::imitation}).probe;
  EXPECT_TRUE((v == 0.0).all().item<bool>());
}

// In a separate process, because the warning appears once per process.
TEST(CrossEntropyDeathTest, TwoClassesWithImitationWarn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto evaluate = [](Probe probe) {
    CrossEntropy().evaluate(torch::zeros({1, 2}), torch::zeros({1}, torch::kInt64), {probe});
    std::fputs("done", stderr);
    std::_Exit(0);
  };
  EXPECT_EXIT(evaluate(Probe::imitation), ::testing::ExitedWithCode(0),
              "with two classes the imitation probe is exactly 0.*lehi::BinaryCrossEntropy");
  EXPECT_EXIT(evaluate(Probe::diagonal), ::testing::ExitedWithCode(0), "^done$");
}

// One row repeated; the mean over one row for each of the 2^C sign patterns is E[v v^T] exactly.
std::map<std::vector<double>, std::int64_t> row_of_each_pattern(const RandomKey& key, std::int64_t rows,
                                                                std::int64_t classes) {
  std::map<std::vector<double>, std::int64_t> result;
  const kernels::Draws draws(key);
  std::vector<double> signs(static_cast<std::size_t>(classes));
  for (std::int64_t row = 0; row < rows; ++row) {
    draws.signs(row, classes, signs.data());
    result.emplace(signs, row);
  }
  return result;
}

TEST(CrossEntropy, GaussNewtonHasExactlyTheHessianAsSecondMoment) {
  const RandomKey key = {1, 2, 3, 4};
  constexpr std::int64_t rows = 1000;
  CrossEntropyOptions options;
  options.class_weights = torch::tensor({0.5, 2.0, 1.0, 3.0}, torch::kFloat64);
  const CrossEntropy loss(options);
  const auto y = torch::full({rows}, 3, torch::kInt64);
  const auto patterns = row_of_each_pattern(key, rows, 4);
  ASSERT_EQ(patterns.size(), 16U);
  for (const auto& logits :
       {torch::tensor({0.0, 0.0, 0.0, 0.0}, torch::kFloat64), torch::tensor({1.0, -2.0, 0.5, 3.0}, torch::kFloat64),
        torch::tensor({20.0, -20.0, 0.0, 1.0}, torch::kFloat64)}) {
    const auto p = logits.expand({rows, 4});
    for (const Scale scale : {Scale::sqrt_n, Scale::mean}) {
      const auto v = loss.evaluate(p, y, {Probe::gauss_newton, scale, key}).probe;
      auto moment = torch::zeros({4, 4}, torch::kFloat64);
      for (const auto& [signs, row] : patterns) moment += torch::outer(v[row], v[row]) / 16.0;
      // With Scale::mean the row's weight 3 enters as 3, not as its root.
      const auto expected = loss.hessian(p, y)[0] * (scale == Scale::mean ? 3.0 : 1.0);
      EXPECT_LE(relative_difference(moment, expected), 1e-14);
    }
  }
}

// Five standard deviations of the estimate of each entry: level 6e-7 per entry.
TEST(CrossEntropy, SampledLabelsHaveTheFisherMatrixAsSecondMoment) {
  constexpr std::int64_t rows = 200000;
  const auto p = torch::tensor({1.0, -0.5, 0.3, 2.0}, torch::kFloat64);
  const CrossEntropy loss;
  const auto y = torch::zeros({rows}, torch::kInt64);
  const auto v = loss.evaluate(p.expand({rows, 4}), y, {Probe::sampled_label, Scale::mean, {9, 8, 7, 6}}).probe;
  const auto fisher = loss.hessian(p.unsqueeze(0), y.slice(0, 0, 1))[0];
  const auto products = v.unsqueeze(2) * v.unsqueeze(1);
  EXPECT_TRUE((v.mean(0).abs() <= 5.0 * v.std(0) / std::sqrt(rows)).all().item<bool>());
  EXPECT_TRUE(((products.mean(0) - fisher).abs() <= 5.0 * products.std(0) / std::sqrt(rows)).all().item<bool>());
  // Each vector is the gradient at one label. The gradient's entry of the largest class is computed as 1 - (1 - s), the
  // probe's as s: they may differ by three roundings of 1e-16.
  const auto label = std::get<1>(v.min(-1));
  const auto at_label = loss.evaluate(p.expand({rows, 4}), label).gradient;
  EXPECT_LE((v - at_label).abs().max().item<double>(), 4e-16);
}

TEST(CrossEntropy, RowWeightsEnterByScale) {
  torch::manual_seed(8);
  const auto p = torch::randn({6, 3}, torch::kFloat64);
  const auto y = torch::tensor({0, 1, 2, 0, 1, 2}, torch::kInt64);
  CrossEntropyOptions options;
  options.class_weights = torch::tensor({4.0, 0.25, 0.0}, torch::kFloat64);
  const auto c = torch::tensor({4.0, 0.25, 0.0, 4.0, 0.25, 0.0}, torch::kFloat64).unsqueeze(1);
  for (const Probe probe : {Probe::imitation, Probe::diagonal, Probe::gauss_newton, Probe::sampled_label}) {
    const auto plain = CrossEntropy().evaluate(p, y, {probe}).probe;
    const auto root = CrossEntropy(options).evaluate(p, y, {probe, Scale::sqrt_n}).probe;
    const auto mean = CrossEntropy(options).evaluate(p, y, {probe, Scale::mean}).probe;
    EXPECT_LE(relative_difference(root, c.sqrt() * plain), 1e-15) << name(probe);
    EXPECT_LE(relative_difference(mean, c * plain), 1e-15) << name(probe);
  }
}

TEST(CrossEntropy, IgnoredRowsDoNotCount) {
  torch::manual_seed(9);
  const auto p = torch::randn({4, 3}, torch::kFloat64);
  const auto y = torch::tensor({0, -100, 2, -100}, torch::kInt64);
  const auto kept = torch::tensor({0, 2}, torch::kInt64);
  const auto found = CrossEntropy().evaluate(p, y, {Probe::imitation});
  const auto expected = CrossEntropy().evaluate(p.index_select(0, kept), y.index_select(0, kept), {Probe::imitation});
  EXPECT_EQ(found.sum, expected.sum);
  EXPECT_EQ(found.count, 2.0);
  EXPECT_EQ(found.rows, 4);
  EXPECT_TRUE(same_bits(found.probe.index_select(0, kept), expected.probe));
  EXPECT_EQ(found.probe[1].abs().sum().item<double>() + found.gradient[3].abs().sum().item<double>(), 0.0);
  const auto none = CrossEntropy().evaluate(p, torch::full({4}, -100, torch::kInt64));
  EXPECT_EQ(none.count, 0.0);
  EXPECT_TRUE(std::isnan(none.mean()));
}

TEST(CrossEntropy, RowsOfAnyRank) {
  torch::manual_seed(10);
  const auto p = torch::randn({2, 3, 4}, torch::kFloat64);
  const auto y = torch::randint(4, {2, 3}, torch::kInt64);
  const auto deep = CrossEntropy().evaluate(p, y, {Probe::gauss_newton});
  const auto flat = CrossEntropy().evaluate(p.view({6, 4}), y.view({6}), {Probe::gauss_newton});
  EXPECT_EQ(deep.sum, flat.sum);
  EXPECT_EQ(deep.gradient.sizes(), p.sizes());
  EXPECT_TRUE(same_bits(deep.probe.view({6, 4}), flat.probe));
  EXPECT_EQ(CrossEntropy().second_derivatives(p, y).sizes(), p.sizes());
  EXPECT_EQ(CrossEntropy().hessian(p, y).sizes(), (std::vector<std::int64_t>{6, 4, 4}));
}

// Logits (0, p) and target y in {0, 1} are the same model as one logit p.
TEST(CrossEntropy, TwoClassesAgreeWithBinaryCrossEntropy) {
  torch::manual_seed(11);
  const auto p = torch::cat(
      {4.0 * torch::randn({50}, torch::kFloat64), torch::tensor({-300.0, -40.0, 0.0, 40.0, 300.0}, torch::kFloat64)});
  const auto y = torch::arange(p.size(0), torch::kInt64).remainder(2);
  const auto two = torch::stack({torch::zeros_like(p), p}, 1);
  const CrossEntropy softmax;
  const BinaryCrossEntropy logistic;
  const RandomKey key = {1, 1, 1, 1};
  for (std::int64_t row = 0; row < p.size(0); ++row) {
    const auto pair = two.slice(0, row, row + 1);
    const auto logit = p.slice(0, row, row + 1);
    const auto label = y.slice(0, row, row + 1);
    const auto a = softmax.evaluate(pair, label);
    const auto b = logistic.evaluate(logit, label.to(torch::kFloat64));
    EXPECT_NEAR(a.sum, b.sum, 1e-12 * b.sum) << "logit " << logit.item<double>();
    EXPECT_NEAR(a.gradient[0][1].item<double>(), b.gradient[0].item<double>(),
                1e-12 * b.gradient[0].abs().item<double>());

    const auto patterns = row_of_each_pattern(key, 64, 2);
    ASSERT_EQ(patterns.size(), 4U);
    const auto v =
        softmax.evaluate(pair.expand({64, 2}), label.expand({64}), {Probe::gauss_newton, Scale::sqrt_n, key}).probe;
    double moment = 0.0;
    for (const auto& [signs, at] : patterns) moment += v[at][1].square().item<double>() / 4.0;
    const auto w = logistic.evaluate(logit, label.to(torch::kFloat64), {Probe::gauss_newton}).probe;
    EXPECT_NEAR(moment, w.square().item<double>(), 1e-12 * w.square().item<double>());
  }
}

}  // namespace
}  // namespace lehi
