// The scalars of a step, computed by hand, and a recipe as a string.
#include "plan/coefficients.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace lehi {
namespace {

using kernels::Feed;
using kernels::Form;

// Numbers whose powers are short.
constexpr Hyperparameters half = {.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.25, .weight_decay = 0.125};

TEST(Coefficients, OfAdamsSecondStep) {
  const Recipe recipe = recipe_of(Preset::adamw);
  StepCounts counts;
  for (std::int64_t step = 1; step <= 2; ++step) count_step(recipe, half, plan_step(recipe, step), counts);
  EXPECT_EQ(counts.step, 2);
  EXPECT_EQ(counts.steps_covered, 2);
  const auto c = coefficients({.recipe = recipe, .numbers = half, .counts = counts, .plan = plan_step(recipe, 2)});
  EXPECT_EQ(c.form, Form::scaled);
  EXPECT_EQ(c.feed, Feed::gradient);
  EXPECT_EQ(c.v_decay, 0.75);
  EXPECT_EQ(c.v_gain, 0.25);
  EXPECT_EQ(c.m_decay, 0.5);
  EXPECT_EQ(c.m_gain, 0.5);
  EXPECT_EQ(c.m_rate, 0.5 / (1 - 0.25));
  EXPECT_EQ(c.v_scale, std::sqrt(1 / (1 - 0.5625)));
  EXPECT_EQ(c.w_decay, 1 - 0.5 * 0.125);
  EXPECT_EQ(c.eps, 0.25);
}

TEST(Coefficients, CoupledDecayIsNotTheKernels) {
  const Recipe recipe = recipe_of(Preset::adam);
  const StepCounts counts{.step = 1, .steps_covered = 1};
  EXPECT_EQ(recipe.decay, Decay::coupled);
  EXPECT_EQ(coefficients({.recipe = recipe, .numbers = half, .counts = counts, .plan = plan_step(recipe, 1)}).w_decay,
            1.0);
}

TEST(Coefficients, OfAnAmortisedRunningSum) {
  Recipe recipe = recipe_of(Preset::lehi);
  recipe.schedule = {.every = 2};
  const StepCounts counts{.step = 1, .steps_covered = 2};
  const auto c = coefficients({.recipe = recipe, .numbers = half, .counts = counts, .plan = plan_step(recipe, 1)});
  EXPECT_EQ(c.form, Form::root_sum);
  EXPECT_EQ(c.feed, Feed::probe);
  EXPECT_EQ(c.v_decay, 0.5625);
  EXPECT_EQ(c.v_gain, 1.75);  // 1 + beta2
  EXPECT_EQ(c.m_gain, 1.0);
  EXPECT_EQ(c.m_rate, 0.5 * (1 - 0.5) / std::sqrt(0.25 / (1 - 0.5625)));
}

TEST(Coefficients, AParameterAwaitsItsFirstRefresh) {
  Recipe recipe = recipe_of(Preset::lehi);
  recipe.schedule = {.every = 3};
  EXPECT_FALSE(awaits_refresh(recipe, plan_step(recipe, 1), {}));
  EXPECT_TRUE(awaits_refresh(recipe, plan_step(recipe, 2), {}));
  EXPECT_FALSE(awaits_refresh(recipe, plan_step(recipe, 2), {.step = 1, .steps_covered = 3}));
  EXPECT_FALSE(awaits_refresh(recipe_of(Preset::sgd), plan_step(recipe_of(Preset::sgd), 2), {}));
}

TEST(Coefficients, NadamsProductGrowsStepByStep) {
  const Recipe recipe = recipe_of(Preset::nadam);
  StepCounts counts;
  double product = 1.0;
  for (int k = 1; k <= 3; ++k) {
    count_step(recipe, half, plan_step(recipe, k), counts);
    product *= 0.5 * (1 - 0.5 * std::pow(0.96, k * 4e-3));
    EXPECT_DOUBLE_EQ(counts.momentum_product, product);
  }
}

TEST(KeptState, FollowsRuleAccumulatorAndMomentum) {
  const auto letters = [](const Recipe& recipe, double momentum) {
    const KeptState kept = kept_state(recipe, {.momentum = momentum});
    return std::string(kept.m ? "m" : "") + (kept.v ? "v" : "") + (kept.v_max ? "x" : "") +
           (kept.momentum_product ? "p" : "");
  };
  EXPECT_EQ(letters(recipe_of(Preset::lehi), 0), "mv");
  EXPECT_EQ(letters(recipe_of(Preset::amsgrad), 0), "mvx");
  EXPECT_EQ(letters(recipe_of(Preset::nadam), 0), "mvp");
  EXPECT_EQ(letters(recipe_of(Preset::rmsprop), 0), "v");
  EXPECT_EQ(letters(recipe_of(Preset::rmsprop), 0.5), "mv");
  EXPECT_EQ(letters(recipe_of(Preset::sgd), 0), "");
  EXPECT_EQ(letters(recipe_of(Preset::sgd), 0.5), "m");
}

TEST(EpsLimit, IsWhereEpsOutweighsV) {
  const StepCounts counts{.step = 1, .steps_covered = 1};
  const auto limit = [&](Preset preset, double count) { return eps_limit(recipe_of(preset), half, counts, count); };
  EXPECT_EQ(limit(Preset::lehi, 1), 0.25);
  EXPECT_DOUBLE_EQ(*limit(Preset::adam, 1), 0.25 * 0.25 * (1 - 0.75));
  EXPECT_DOUBLE_EQ(*limit(Preset::sophia_g, 8), 0.25 / (0.05 * 8));
  EXPECT_EQ(limit(Preset::sophia_g, 0), std::nullopt);
  EXPECT_EQ(limit(Preset::sgd, 1), std::nullopt);
  EXPECT_EQ(eps_limit(recipe_of(Preset::adam), half, {}, 1), std::nullopt);
}

TEST(ProbeFactor, IsOneOverNOrItsRootWithTheWeightLikewise) {
  EXPECT_EQ(probe_factor(Scale::sqrt_n, 1, 16), 0.25);
  EXPECT_EQ(probe_factor(Scale::sqrt_n, 4, 16), 0.5);
  EXPECT_EQ(probe_factor(Scale::mean, 4, 16), 0.25);
}

TEST(RecipeString, NamesEveryPart) {
  EXPECT_EQ(
      to_string(recipe_of(Preset::lehi_gn)),
      "probe=gauss-newton every=10 dense=200 alternate=no doubling=no accumulator=ema mix=max rule=adam "
      "decay=decoupled scale=mean shape=diagonal factors=probe sides=automatic cost=0.5 square-blocks=no basis-every=1 step-factor=1");
  for (const Preset preset : all_presets()) EXPECT_EQ(difference(to_string(recipe_of(preset)), recipe_of(preset)), "");
}

TEST(RecipeString, TheDifferenceNamesThePart) {
  const Recipe lehi = recipe_of(Preset::lehi);
  EXPECT_EQ(difference(to_string(recipe_of(Preset::lehibrid)), lehi), "alternate=yes there, alternate=no here");
  EXPECT_EQ(difference(to_string(lehi) + " form=round", lehi), "form=round there, which this version does not have");
  Recipe shaped = lehi;
  shaped.shape = Shape::kronecker;
  EXPECT_EQ(difference(to_string(shaped), lehi), "shape=kronecker there, shape=diagonal here");
  EXPECT_EQ(difference("probe=imitation every=1 dense=0 alternate=no accumulator=running-sum mix=none "
                       "rule=adam-simplified decay=decoupled scale=sqrt-n",
                       lehi),
            "")
      << "as written before there were shapes";
  EXPECT_EQ(difference("", Recipe{}), "") << "a part that is missing takes its default";
  EXPECT_EQ(difference("", lehi), "accumulator=ema there, accumulator=running-sum here");
}

TEST(PresetNames, AreReadBack) {
  for (const Preset preset : all_presets()) EXPECT_EQ(preset_from_name(name(preset)), preset);
  EXPECT_THROW(preset_from_name("adan"), std::invalid_argument);
}

}  // namespace
}  // namespace lehi
