// The check of g and s by itself: norms by hand, and each problem by its name.
#include "optim/gradient_check.h"

#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

using kernels::Feed;
using torch::Tensor;

struct Two {
  Weights weights = {torch::zeros({2}, torch::kFloat64), torch::zeros({1}, torch::kFloat64)};
  Groups groups = groups_of({{weights[0]}, {weights[1]}});
  ParameterTable table;
  Two() {
    for (auto& group : groups) group.set_options(std::make_unique<GroupOptions>());
    table.read(groups);
    table.check(groups, Rule::adam);
    table.set_name(weights[1], "head");
  }
  GradientSummary summary_of(const Tensor& g0, const Tensor& g1, const Tensor& s1 = {}, Feed feed = Feed::gradient,
                             std::optional<double> clip = {}) const {
    GradientCheck gradient_check(table, {.feed = feed, .covers = 1}, {.g = 0.5, .s = 1.0});
    gradient_check.add(0, g0, {});
    gradient_check.add(1, g1, s1);
    return gradient_check.finish({.value = 1.0}, clip, {g0, g1});
  }
};

Tensor numbers(const std::vector<double>& values) { return torch::tensor(values, torch::kFloat64); }

TEST(GradientCheck, NormsAreThoseOfTheScaledGradient) {
  const auto found = Two().summary_of(numbers({6, -8}), numbers({24}));
  EXPECT_EQ(found.norm, 13.0);  // half of (6, -8, 24)
  EXPECT_EQ(found.inf_norm, 12.0);
  EXPECT_EQ(found.group_inf_norms, (std::vector<double>{4, 12}));
  EXPECT_EQ(found.clip_factor, 1.0);
  EXPECT_EQ(found.problem, "");
}

TEST(GradientCheck, ClippingScalesToTheLargestNorm) {
  EXPECT_EQ(Two().summary_of(numbers({6, -8}), numbers({24}), {}, Feed::gradient, 6.5).clip_factor, 0.5);
  EXPECT_EQ(Two().summary_of(numbers({6, -8}), numbers({24}), {}, Feed::gradient, 100.0).clip_factor, 1.0);
}

TEST(GradientCheck, ProblemsNameTheParameter) {
  const Two two;
  EXPECT_EQ(two.summary_of(numbers({1, 1}), numbers({NAN})).problem, "the gradient of head is not finite");
  EXPECT_TRUE(std::isnan(two.summary_of(numbers({1, 1}), numbers({NAN})).norm));
  EXPECT_EQ(two.summary_of(numbers({1, 1}), numbers({1}), numbers({INFINITY}), Feed::probe).problem,
            "the probe of head is not finite");
  EXPECT_EQ(two.summary_of(numbers({1, 1}), numbers({1}), numbers({1e200}), Feed::probe).problem,
            "the probe of head is too large for its square to be kept");
  EXPECT_EQ(two.summary_of(numbers({1, 1}), numbers({1e200})).problem,
            "the gradient of head is too large for its square to be kept");
  EXPECT_EQ(two.summary_of(numbers({1, 1}), numbers({1e200}), {}, Feed::probe).problem, "") << "g is not squared";
}

TEST(GradientCheck, ANormBeyondFloat64sSquaresIsStillFound) {
  EXPECT_DOUBLE_EQ(Two().summary_of(numbers({6e180, -8e180}), numbers({24e180}), {}, Feed::probe).norm, 13e180);
}

}  // namespace
}  // namespace lehi::testing
