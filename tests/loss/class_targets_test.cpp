// Messages of cross-entropy for invalid targets and options.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

#include "lehi/cross_entropy.h"
#include "support/support.h"

namespace lehi {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

void expect_error(const CrossEntropy& loss, const torch::Tensor& p, const torch::Tensor& y, const std::string& text) {
  EXPECT_THROW(loss.evaluate(p, y), std::invalid_argument) << text;
  EXPECT_THAT(message_of([&] { loss.evaluate(p, y); }), HasSubstr(text));
}

TEST(ClassTargets, WrongDtype) {
  const CrossEntropy loss;
  const auto p = torch::zeros({4, 3});
  expect_error(loss, p, torch::zeros({4}, torch::kInt32), "targets are Int; class indices must be int64");
  expect_error(loss, p, torch::zeros({4}), "targets are Float; class indices must be int64: convert");
  expect_error(loss, p, torch::zeros({4, 3}, torch::kBool), "targets are Bool; class indices must be int64");
  expect_error(loss, p, torch::full({4, 3}, 1.0 / 3, torch::kFloat64),
               "target probabilities are Double and predictions Float");
}

TEST(ClassTargets, WrongShape) {
  const CrossEntropy loss;
  expect_error(
      loss, torch::zeros({4, 3}), torch::zeros({4, 1}, torch::kInt64),
      "targets of shape [4, 1] do not match predictions of shape [4, 3]: expected class indices of shape [4] or "
      "probabilities of shape [4, 3]");
  expect_error(loss, torch::zeros({4, 3}), torch::full({4, 2}, 0.5), "targets of shape [4, 2] do not match");
  expect_error(loss, torch::zeros({4, 3}), torch::zeros({5}, torch::kInt64), "targets of shape [5] do not match");
  expect_error(loss, torch::zeros({4, 3, 7}), torch::zeros({4, 7}, torch::kInt64),
               "[4, 7] do not match predictions of shape [4, 3, 7]: classes must be the last dimension");
  expect_error(loss, torch::zeros({4, 3, 5, 7}), torch::zeros({4, 5, 7}, torch::kInt64), "movedim(1, -1)");
  expect_error(loss, torch::zeros({3}), torch::zeros({}, torch::kInt64),
               "predictions of shape [3] have no class dimension");
}

TEST(ClassTargets, IndexOutOfRange) {
  CrossEntropyOptions options;
  options.ignore_index = -1;
  const CrossEntropy loss(options);
  const auto p = torch::zeros({4, 3});
  expect_error(loss, p, torch::tensor({0, -1, 3, 7}, torch::kInt64),
               "the class index of row 2 is 3; expected 0 to 2 for 3 classes, or -1 for a row to ignore");
  expect_error(loss, p, torch::tensor({0, -100, 1, 1}, torch::kInt64), "the class index of row 1 is -100");
}

TEST(ClassTargets, ProbabilitiesMustBeOnes) {
  const CrossEntropy loss;
  const auto p = torch::zeros({2, 2}, torch::kFloat64);
  const auto rows = [](double a, double b) { return torch::tensor({{0.5, 0.5}, {a, b}}, torch::kFloat64); };
  expect_error(loss, p, rows(1.25, -0.25), "the target probability of row 1, class 1 is -0.25; expected");
  expect_error(loss, p, rows(std::numeric_limits<double>::quiet_NaN(), 1.0), "row 1, class 0 is nan");
  expect_error(loss, p, rows(0.5, 0.25), "the target probabilities of row 1 add up to 0.75; expected 1");
  expect_error(loss, p, rows(0.5, 0.5 + 1e-7), "expected 1 within 1e-08");
  expect_error(loss, p, rows(std::numeric_limits<double>::infinity(), 0.0), "add up to inf");
  EXPECT_NO_THROW(loss.evaluate(p, rows(0.5, 0.5 + 1e-9)));
  EXPECT_NO_THROW(loss.evaluate(p.to(torch::kFloat32), rows(0.5, 0.50005).to(torch::kFloat32)));
  expect_error(loss, p.to(torch::kFloat32), rows(0.5, 0.5005).to(torch::kFloat32), "expected 1 within 0.0001");
}

TEST(CrossEntropyOptions, OutOfRange) {
  const auto message = [](double smoothing, const torch::Tensor& weights) {
    return message_of([&] { CrossEntropy({smoothing, weights}); });
  };
  EXPECT_THAT(message(1.0, {}), HasSubstr("label_smoothing is 1; expected a number from 0 to below 1"));
  EXPECT_THAT(message(-0.1, {}), HasSubstr("label_smoothing is -0.1"));
  EXPECT_THAT(message(0.0, torch::ones({2, 2})), HasSubstr("class_weights have shape [2, 2]"));
  EXPECT_THAT(message(0.0, torch::tensor({1.0, -2.0})), HasSubstr("the class weight of class 1 is -2; expected"));
  EXPECT_THAT(message(0.0, torch::tensor({std::numeric_limits<double>::infinity()})), HasSubstr("class 0 is inf"));
  const CrossEntropy loss({0.0, torch::ones({2})});
  expect_error(loss, torch::zeros({4, 3}), torch::zeros({4}, torch::kInt64),
               "class_weights have 2 entries, but predictions of shape [4, 3] have 3 classes");
}

TEST(CrossEntropyOptions, WeightsAreCopied) {
  const auto weights = torch::ones({3}, torch::kFloat64);
  const CrossEntropy loss({0.0, weights});
  weights.fill_(5.0);
  EXPECT_EQ(loss.evaluate(torch::zeros({1, 3}), torch::zeros({1}, torch::kInt64)).count, 1.0);
}

}  // namespace
}  // namespace lehi
