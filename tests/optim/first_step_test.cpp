// First steps that can be checked by hand: one weight w = 2, one input x = 3, one target y = 1, betas 0 and lr 1.
// Then p = x w = 6 and, for the mean squared error, u = p - y = 5, g = x u = 15, and the probe v = 1 gives s = 3.
#include "optim/fixtures.h"

namespace lehi::testing {
namespace {

constexpr double kStart = 2.0;

// The weight after `steps` steps on one row (or, given more inputs, on a batch with targets 1).
double weight_after(Options options, int steps = 1, const std::vector<double>& inputs = {3.0}) {
  const auto w = torch::full({1}, kStart, torch::kFloat64).requires_grad_(true);
  const auto x = torch::tensor(inputs, torch::kFloat64);
  Optimizer optimizer({w}, std::move(options));
  for (int step = 0; step < steps; ++step) optimizer.step(x * w, MeanSquaredError(), torch::ones_like(x));
  return w.item<double>();
}

TEST(FirstStep, LehiDividesByTheProbe) {  // 15 / sqrt(16 + 3^2) = 3
  EXPECT_DOUBLE_EQ(weight_after(LehiOptions(1.0).betas(0, 0).eps(16)), kStart - 3.0);
}

TEST(FirstStep, LehiScalesTheProbeBySqrtN) {  // x = 3, 4: u = 5, 7; g = (15 + 28)/2; s = (3 + 4)/sqrt(2)
  EXPECT_DOUBLE_EQ(weight_after(LehiOptions(1.0).betas(0, 0).eps(16), 1, {3, 4}), kStart - 21.5 / std::sqrt(16 + 24.5));
}

TEST(FirstStep, MeanScaleDividesTheProbeByN) {  // s = (3 + 4)/2
  EXPECT_DOUBLE_EQ(weight_after(LehiOptions(1.0).betas(0, 0).eps(16).scale(Scale::mean), 1, {3, 4}),
                   kStart - 21.5 / std::sqrt(16 + 12.25));
}

TEST(FirstStep, LehiKeepsThePapersRunningSums) {
  // b1 = b2 = 1/2, two steps. Step 1: m = 15, v = 9, rate (1/2) sqrt(1/2)/sqrt(1/2); 15/sqrt(16 + 9) = 3: w = 2 - 1.5.
  // Step 2: p = 1.5, g = 1.5; m = 7.5 + 1.5, v = 4.5 + 9, rate (1/2) sqrt(3/4)/sqrt(1/2).
  const double expected = 0.5 - 0.5 * std::sqrt(1.5) * 9.0 / std::sqrt(16 + 13.5);
  EXPECT_DOUBLE_EQ(weight_after(LehiOptions(1.0).betas(0.5, 0.5).eps(16), 2), expected);
}

TEST(FirstStep, LehibridUsesTheGradientAtItsSecondStep) {
  // Step 1 as lehi: w = 2 - 15/sqrt(16 + 9) = -1. Step 2: p = -3, u = -4, g = s = -12.
  const auto options = LehibridOptions(1.0).betas(0, 0).eps(16);
  EXPECT_DOUBLE_EQ(weight_after(options), -1.0);
  EXPECT_DOUBLE_EQ(weight_after(options, 2), -1.0 + 12.0 / std::sqrt(16 + 144));
}

TEST(FirstStep, LehiGnIsAdamWithTheProbeInTheDenominator) {  // s = +-3: 15 / (3 + 2) = 3
  EXPECT_DOUBLE_EQ(weight_after(LehiGnOptions(1.0).betas(0, 0).eps(2).mix(Mix::none)), kStart - 3.0);
}

TEST(FirstStep, AdamSimplifiedHasEpsInsideTheRoot) {  // 15 / sqrt(64 + 15^2) = 15/17
  EXPECT_DOUBLE_EQ(weight_after(AdamSimplifiedOptions(1.0).betas(0, 0).eps(64)), kStart - 15.0 / 17.0);
}

TEST(FirstStep, AdamHasEpsOutsideTheRoot) {  // 15 / (15 + 10) = 0.6
  EXPECT_DOUBLE_EQ(weight_after(AdamOptions(1.0).betas(0, 0).eps(10)), kStart - 0.6);
  EXPECT_DOUBLE_EQ(weight_after(AmsgradOptions(1.0).betas(0, 0).eps(10)), kStart - 0.6);
  EXPECT_DOUBLE_EQ(weight_after(RmspropOptions(1.0).betas(0, 0).eps(10)), kStart - 0.6);
  EXPECT_DOUBLE_EQ(weight_after(AdagradOptions(1.0).eps(10)), kStart - 0.6);
  EXPECT_DOUBLE_EQ(weight_after(NadamOptions(1.0).betas(0, 0).eps(10)), kStart - 0.6);
}

TEST(FirstStep, DecayShrinksTheWeightBeforeTheStep) {  // 2 (1 - 0.1) - 0.6
  EXPECT_DOUBLE_EQ(weight_after(AdamWOptions(1.0).betas(0, 0).eps(10).weight_decay(0.1)), 1.8 - 0.6);
  EXPECT_DOUBLE_EQ(weight_after(SgdOptions(0.01).weight_decay(10.0)), 1.8 - 0.15);
  EXPECT_DOUBLE_EQ(weight_after(LehiOptions(1.0).betas(0, 0).eps(16).weight_decay(0.1)), 1.8 - 3.0);
}

TEST(FirstStep, SgdTakesTheGradient) { EXPECT_DOUBLE_EQ(weight_after(SgdOptions(1.0)), kStart - 15.0); }

TEST(FirstStep, RadamIsPlainMomentumWhileTheVarianceIsUnknown) {
  EXPECT_DOUBLE_EQ(weight_after(RadamOptions(1.0).betas(0, 0)), kStart - 15.0);
}

TEST(FirstStep, SophiaDividesAndClips) {
  // The diagonal probe, v = 1, in place of the sampled label makes h = s^2 = 9 known: 15 / (1 * 9 + 21) = 0.5.
  const auto options = SophiaGOptions(1.0).betas(0, 0).rho(1.0).weight_decay(0.0).probe(Probe::diagonal);
  EXPECT_DOUBLE_EQ(weight_after(SophiaGOptions(options).eps(21)), kStart - 0.5);
  EXPECT_DOUBLE_EQ(weight_after(SophiaGOptions(options).eps(1)), kStart - 1.0) << "15 / 10 is clipped to 1";
}

TEST(FirstStep, SophiaMultipliesTheCurvatureByTheBatch) {  // x = 3, 4: s = 7/2, h = 49/4, B = 2; 21.5 / (24.5 + 18.5)
  const auto options = SophiaGOptions(1.0).betas(0, 0).rho(1.0).weight_decay(0.0).probe(Probe::diagonal).eps(18.5);
  EXPECT_DOUBLE_EQ(weight_after(options, 1, {3, 4}), kStart - 0.5);
}

}  // namespace
}  // namespace lehi::testing
