// What all losses share: rows and outputs, reuse of buffers, and the message for each invalid input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "lehi/automatic.h"
#include "lehi/cross_entropy.h"
#include "lehi/error.h"
#include "lehi/losses.h"
#include "support/support.h"

namespace lehi {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::same_bits;

void expect_error(const Loss& loss, const torch::Tensor& p, const torch::Tensor& y, const std::string& text,
                  Probe probe = Probe::gradient) {
  EXPECT_THROW(loss.evaluate(p, y, {probe}), std::invalid_argument) << text;
  EXPECT_THAT(message_of([&] { loss.evaluate(p, y, {probe}); }), HasSubstr(text));
}

TEST(Probes, NamesGoBothWays) {
  EXPECT_EQ(all_probes().size(), 5U);
  for (const Probe probe : all_probes()) EXPECT_EQ(probe_from_name(name(probe)), probe);
  for (const Scale scale : {Scale::sqrt_n, Scale::mean}) EXPECT_EQ(scale_from_name(name(scale)), scale);
  EXPECT_EQ(name(Probe::gauss_newton), "gauss-newton");
  EXPECT_EQ(name(Scale::sqrt_n), "sqrt-n");
  EXPECT_TRUE(is_random(Probe::gauss_newton));
  EXPECT_TRUE(is_random(Probe::sampled_label));
  EXPECT_FALSE(is_random(Probe::imitation));
  EXPECT_THROW(probe_from_name("hessian"), std::invalid_argument);
  EXPECT_THAT(message_of([] { probe_from_name("hessian"); }), HasSubstr("gradient, imitation, diagonal, gauss-newton"));
  EXPECT_THAT(message_of([] { scale_from_name("sum"); }), HasSubstr("sqrt-n, mean"));
}

TEST(Rows, ByShape) {
  const auto shape = [](at::IntArrayRef sizes) {
    const auto [rows, outputs] = row_shape(torch::empty(sizes));
    return std::pair(rows, outputs);
  };
  EXPECT_EQ(shape({7}), std::pair(std::int64_t{7}, std::int64_t{1}));
  EXPECT_EQ(shape({7, 3}), std::pair(std::int64_t{7}, std::int64_t{3}));
  EXPECT_EQ(shape({2, 7, 3}), std::pair(std::int64_t{14}, std::int64_t{3}));
  EXPECT_EQ(shape({7, 0}), std::pair(std::int64_t{0}, std::int64_t{0}));
}

TEST(Rows, ShapeDecidesTheMean) {
  const auto p = torch::arange(12, torch::kFloat64);
  const auto y = torch::zeros_like(p);
  const MeanSquaredError loss;
  EXPECT_EQ(loss.evaluate(p, y).mean(), 253.0 / 12.0);  // half of 506 over 12 rows
  EXPECT_EQ(loss.evaluate(p.view({4, 3}), y.view({4, 3})).mean(), 253.0 / 4.0);
  EXPECT_EQ(loss.evaluate(p.view({2, 2, 3}), y.view({2, 2, 3})).mean(), 253.0 / 4.0);
}

TEST(Evaluate, ReusesBuffersThatFit) {
  const auto p = torch::randn({6, 4});
  const auto y = torch::randn({6, 4});
  const MeanSquaredError loss;
  Evaluation out;
  loss.evaluate(p, y, {Probe::imitation}, out);
  const void* gradient = out.gradient.data_ptr();
  const void* probe = out.probe.data_ptr();
  loss.evaluate(2.0 * p, y, {Probe::imitation}, out);
  EXPECT_EQ(out.gradient.data_ptr(), gradient);
  EXPECT_EQ(out.probe.data_ptr(), probe);
  EXPECT_TRUE(same_bits(out.gradient, 2.0 * p - y));

  loss.evaluate(p.to(torch::kFloat64), y.to(torch::kFloat64), {}, out);
  EXPECT_EQ(out.gradient.dtype(), torch::kFloat64);
  EXPECT_FALSE(out.probe.defined());
  out.gradient = torch::empty({4, 6}).t();
  loss.evaluate(p, y, {}, out);
  EXPECT_TRUE(out.gradient.is_contiguous());
  out.gradient = p;
  loss.evaluate(p, y, {}, out);
  EXPECT_NE(out.gradient.data_ptr(), p.data_ptr());  // the predictions are never overwritten
}

TEST(Evaluate, ReadsViewsAndBuildsNoGraph) {
  torch::manual_seed(1);
  const auto p = torch::randn({4, 6}, torch::kFloat64).t();
  const auto y = torch::randn({8, 6}, torch::kFloat64).t().slice(1, 0, 8, 2);
  ASSERT_FALSE(p.is_contiguous());
  ASSERT_FALSE(y.is_contiguous());
  const MeanSquaredError loss;
  const auto leaf = p.detach().requires_grad_();
  const auto found = loss.evaluate(leaf, y, {Probe::gauss_newton});
  EXPECT_TRUE(same_bits(found.gradient, p - y));
  EXPECT_FALSE(found.gradient.requires_grad());
  EXPECT_FALSE(found.probe.requires_grad());
  const CrossEntropy cross_entropy;
  const auto index = torch::arange(12, torch::kInt64).remainder(4).slice(0, 0, 12, 2);
  EXPECT_TRUE(same_bits(cross_entropy.evaluate(leaf, index, {Probe::imitation}).probe,
                        cross_entropy.evaluate(p.contiguous(), index.contiguous(), {Probe::imitation}).probe));
}

TEST(Evaluate, ThrowsForInvalidTensors) {
  const MeanSquaredError mse;
  const auto good = torch::ones({2, 3});
  expect_error(mse, {}, good, "mse: the predictions are an undefined tensor");
  expect_error(mse, good, {}, "mse: the targets are an undefined tensor");
  expect_error(mse, good.to(torch::kInt64), good, "must be float32, float64, bfloat16 or float16, not Long: convert");
  expect_error(mse, good.to(torch::kBFloat16), good.to(torch::kFloat64), "targets are Double and predictions Float");
  expect_error(mse, torch::ones({0, 3}), torch::ones({0, 3}), "predictions of shape [0, 3] are empty");
  expect_error(mse, torch::ones({3, 0}), torch::ones({3, 0}), "predictions of shape [3, 0] are empty");
  expect_error(mse, torch::ones({}), torch::ones({}), "a single number");
  expect_error(mse, good.to_sparse(), good, "must be dense");
  expect_error(mse, good, good.to_sparse(), "must be dense");
  expect_error(mse, good, torch::ones({2, 3}, torch::kMeta), "predictions are on cpu and targets on meta");
}

TEST(Evaluate, ThrowsForUnsupportedProbes) {
  const auto p = torch::zeros({2});
  expect_error(Huber(), p, p, "huber has no sampled-label probe; it has gradient, imitation, diagonal, gauss-newton",
               Probe::sampled_label);
  expect_error(Focal(), p, p, "focal has no gauss-newton probe; it has gradient, imitation, diagonal",
               Probe::gauss_newton);
}

TEST(ElementwiseLosses, ThrowForWrongShapesAndDtypes) {
  const MeanSquaredError mse;
  expect_error(mse, torch::zeros({4, 1}), torch::zeros({4}),
               "targets of shape [4] do not match predictions of shape [4, 1]");
  expect_error(mse, torch::zeros({4}), torch::zeros({4}, torch::kFloat64), "targets are Double and predictions Float");
  expect_error(BinaryCrossEntropy(), torch::zeros({4}), torch::zeros({4}, torch::kInt64), ".to(torch::kFloat32)");
}

TEST(ElementwiseLosses, ThrowForTargetsOutOfRange) {
  const auto p = torch::zeros({3, 2});
  const auto with = [](double value) {
    auto y = torch::ones({3, 2});
    y[2][1] = value;
    return y;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  expect_error(BinaryCrossEntropy(), p, with(1.5),
               "bce: the target at row 2, output 1 is 1.5; expected a number from 0 to 1");
  expect_error(BinaryCrossEntropy(), p, with(-0.5), "is -0.5; expected");
  expect_error(BinaryCrossEntropy(), p, with(nan), "is nan; expected");
  expect_error(PoissonNll(), p, with(-1.0), "row 2, output 1 is -1; expected a finite number that is not negative");
  expect_error(SquaredHinge(), p, with(0.0), "row 2, output 1 is 0; expected -1 or 1");
  expect_error(Focal(), p, with(0.5), "row 2, output 1 is 0.5; expected 0 or 1");
  expect_error(MeanSquaredError(), p, with(nan), "is nan; expected a finite number");
  expect_error(Huber(), p, with(inf), "is inf; expected a finite number");
  expect_error(LogCosh(), p.select(1, 0), with(nan).select(1, 1), "log-cosh: the target at row 2 is nan");
  EXPECT_THROW(MeanSquaredError().second_derivatives(p, with(nan)), std::invalid_argument);
}

TEST(ElementwiseLosses, ThrowForOptionsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message_of([] { Huber(0.0); }), HasSubstr("delta is 0; expected"));
  EXPECT_THAT(message_of([nan] { Huber{nan}; }), HasSubstr("delta is nan; expected"));
  EXPECT_THAT(message_of([] { Focal(-1.0); }), HasSubstr("gamma is -1; expected"));
  EXPECT_THAT(message_of([] { Focal(2.0, 1.0); }), HasSubstr("alpha is 1; expected"));
}

TEST(Evaluate, NonFinitePredictionsThrowWithTheirPosition) {
  const Automatic automatic([](const torch::Tensor& p, const torch::Tensor& y) { return (p - y).square(); });
  const CrossEntropy cross_entropy;
  const MeanSquaredError mse;
  const SquaredHinge hinge;  // its formula gives 0 at +inf
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    auto p = torch::zeros({5, 3});
    p[3][1] = bad;
    const auto ones = torch::ones({5, 3});
    for (const Loss* loss : {static_cast<const Loss*>(&mse), static_cast<const Loss*>(&hinge),
                             static_cast<const Loss*>(&automatic), static_cast<const Loss*>(&cross_entropy)}) {
      const auto y = loss == &cross_entropy ? torch::zeros({5}, torch::kInt64) : ones;
      EXPECT_THROW(loss->evaluate(p, y), NonFiniteError) << loss->name();
      EXPECT_THROW(loss->second_derivatives(p, y), NonFiniteError) << loss->name();
      const std::string text = message_of([&] { loss->evaluate(p, y); });
      EXPECT_THAT(text, HasSubstr(loss->name() + ": the prediction at row 3, output 1 is "));
      EXPECT_THAT(text, HasSubstr(std::isnan(bad) ? "nan" : "inf"));
    }
  }
}

}  // namespace
}  // namespace lehi
