// Every entry of tests/data/auxiliary_gradients.json (60-digit arithmetic) above 1e-30 in magnitude: relative error at
// most 1e-12 in float64 and 1e-5 in float32 (where the logits themselves are rounded first).
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cross_entropy_wide.h"
#include "lehi/cross_entropy.h"
#include "lehi/losses.h"
#include "support/support.h"

namespace lehi {
namespace {

constexpr double negligible = 1e-30;

struct Precision {
  torch::Dtype dtype;
  double tolerance;
};

constexpr Precision precisions[] = {{torch::kFloat64, 1e-12}, {torch::kFloat32, 1e-5}};

double number(const nlohmann::json& text) { return std::stod(text.get<std::string>()); }

void expect_close(double found, double expected, double tolerance, const std::string& where) {
  EXPECT_TRUE(std::isfinite(found)) << where;
  if (std::abs(expected) > negligible) {
    EXPECT_LE(std::abs(found - expected), tolerance * std::abs(expected)) << where << ": " << found << " " << expected;
  } else {
    EXPECT_LE(std::abs(found), 2.0 * negligible) << where;
  }
}

void expect_close(const torch::Tensor& found, const nlohmann::json& expected, double tolerance,
                  const std::string& where) {
  ASSERT_EQ(found.numel(), static_cast<std::int64_t>(expected.size())) << where;
  const auto values = found.to(torch::kFloat64).flatten().contiguous();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_close(values.data_ptr<double>()[i], number(expected[i]), tolerance, where + " " + std::to_string(i));
  }
}

TEST(References, CrossEntropy) {
  const auto entries = testing::read_data("auxiliary_gradients.json").at("cross_entropy");
  ASSERT_EQ(entries.size(), 14U);
  const CrossEntropy loss;
  for (const Precision& precision : precisions) {
    for (const auto& entry : entries) {
      const auto logits = torch::tensor(entry.at("logits").get<std::vector<double>>(), torch::kFloat64)
                              .to(precision.dtype)
                              .unsqueeze(0);
      const auto target = torch::tensor({entry.at("target").get<std::int64_t>()}, torch::kInt64);
      const std::string where = entry.at("logits").dump();
      const auto imitation = loss.evaluate(logits, target, {Probe::imitation});
      const auto diagonal = loss.evaluate(logits, target, {Probe::diagonal});
      expect_close(imitation.sum, number(entry.at("loss")), precision.tolerance, where + " loss");
      expect_close(imitation.gradient, entry.at("gradient"), precision.tolerance, where + " gradient");
      expect_close(imitation.probe, entry.at("imitation"), precision.tolerance, where + " imitation");
      expect_close(diagonal.probe, entry.at("diagonal"), precision.tolerance, where + " diagonal");
    }
  }
}

// The same rows with further classes of probability 0, long enough for the kernel's float32 version.
TEST(References, CrossEntropyOfLongFloat32Rows) {
  const auto entries = testing::read_data("auxiliary_gradients.json").at("cross_entropy");
  constexpr std::int64_t classes = kernels::wide_classes + 76;
  const CrossEntropy loss;
  for (const auto& entry : entries) {
    const auto given = torch::tensor(entry.at("logits").get<std::vector<double>>(), torch::kFloat64);
    const std::int64_t own = given.size(0);
    const auto logits = torch::full({1, classes}, given.min().item<double>() - 1e5, torch::kFloat32);
    logits[0].slice(0, classes - own).copy_(given);
    const auto target = torch::tensor({classes - own + entry.at("target").get<std::int64_t>()}, torch::kInt64);
    const std::string where = entry.at("logits").dump();
    const auto imitation = loss.evaluate(logits, target, {Probe::imitation});
    const auto diagonal = loss.evaluate(logits, target, {Probe::diagonal});
    const auto part = [&](const torch::Tensor& all) { return all[0].slice(0, classes - own); };
    expect_close(imitation.sum, number(entry.at("loss")), 1e-5, where + " loss");
    expect_close(part(imitation.gradient), entry.at("gradient"), 1e-5, where + " gradient");
    expect_close(part(imitation.probe), entry.at("imitation"), 1e-5, where + " imitation");
    expect_close(part(diagonal.probe), entry.at("diagonal"), 1e-5, where + " diagonal");
    EXPECT_LE(imitation.probe[0].slice(0, 0, classes - own).abs().max().item<double>(), 2.0 * negligible) << where;
  }
}

TEST(References, BinaryCrossEntropy) {
  const auto entries = testing::read_data("auxiliary_gradients.json").at("binary_cross_entropy");
  ASSERT_EQ(entries.size(), 42U);
  const BinaryCrossEntropy loss;
  for (const Precision& precision : precisions) {
    for (const auto& entry : entries) {
      const auto logit = torch::tensor({entry.at("logit").get<double>()}, torch::kFloat64).to(precision.dtype);
      const auto target = torch::tensor({entry.at("target").get<double>()}, torch::kFloat64).to(precision.dtype);
      const std::string where = "logit " + entry.at("logit").dump() + " target " + entry.at("target").dump();
      const auto found = loss.evaluate(logit, target, {Probe::imitation});
      expect_close(found.sum, number(entry.at("loss")), precision.tolerance, where + " loss");
      expect_close(found.gradient.item<double>(), number(entry.at("gradient")), precision.tolerance,
                   where + " gradient");
      expect_close(found.probe.item<double>(), number(entry.at("imitation")), precision.tolerance,
                   where + " imitation");
    }
  }
}

}  // namespace
}  // namespace lehi
