// What each step needs: which steps refresh, what with, how many steps a refresh covers, when factors and bases change,
// and the table of every preset.
#include "plan/plan.h"

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <string>

namespace lehi {
namespace {

using kernels::Feed;

// "p" a refresh with the probe, "g" one with the gradient, "+" and "m" sum and maximum of both, "." none; and the steps
// covered.
struct Calendar {
  std::string refreshes;
  std::string covers;
};

char letter(Feed feed) {
  const std::map<Feed, char> letters = {{Feed::nothing, '.'},
                                        {Feed::gradient, 'g'},
                                        {Feed::probe, 'p'},
                                        {Feed::probe_plus_gradient, '+'},
                                        {Feed::larger, 'm'}};
  return letters.at(feed);
}

Calendar calendar_of(const Recipe& recipe, std::int64_t first, std::int64_t steps) {
  Calendar seen;
  for (std::int64_t step = first; step < first + steps; ++step) {
    const StepPlan plan = plan_step(recipe, step);
    seen.refreshes += letter(plan.feed);
    seen.covers += plan.covers > 0 ? std::to_string(plan.covers) : ".";
    EXPECT_EQ(plan.refreshes(), plan.feed != Feed::nothing);
    EXPECT_EQ(plan.squares_probe(), std::string("p+m").find(letter(plan.feed)) != std::string::npos);
    EXPECT_EQ(plan.second_backward(), plan.squares_probe() || plan.probe_factors);
    EXPECT_EQ(plan.squares_gradient(), std::string("g+m").find(letter(plan.feed)) != std::string::npos);
  }
  return seen;
}

Calendar calendar(const Schedule& schedule, std::int64_t steps) {
  return calendar_of({.probe = Probe::imitation, .schedule = schedule}, 1, steps);
}

TEST(Schedule, EveryStep) {
  const auto seen = calendar({}, 5);
  EXPECT_EQ(seen.refreshes, "ppppp");
  EXPECT_EQ(seen.covers, "11111");
}

TEST(Schedule, AlternatingStartsWithTheProbe) {
  const auto seen = calendar({.every = 1, .dense = 0, .alternate = true}, 6);
  EXPECT_EQ(seen.refreshes, "pgpgpg");
  EXPECT_EQ(seen.covers, "111111");
}

TEST(Schedule, EveryThirdStepStartsAtTheFirst) {
  const auto seen = calendar({.every = 3, .dense = 0, .alternate = false}, 8);
  EXPECT_EQ(seen.refreshes, "p..p..p.");
  EXPECT_EQ(seen.covers, "3..3..3.");
}

TEST(Schedule, ADenseStartIsFollowedByARefreshThatCoversN) {
  const auto seen = calendar({.every = 4, .dense = 3, .alternate = false}, 13);
  EXPECT_EQ(seen.refreshes, "pppp...p...p.");
  EXPECT_EQ(seen.covers, "1114...4...4.");
}

TEST(Schedule, AlternatingCountsRefreshesNotSteps) {
  EXPECT_EQ(calendar({.every = 4, .dense = 0, .alternate = true}, 13).refreshes, "p...g...p...g");
  EXPECT_EQ(calendar({.every = 3, .dense = 2, .alternate = true}, 12).refreshes, "pgp..g..p..g");
  EXPECT_EQ(calendar({.every = 3, .dense = 3, .alternate = true}, 10).refreshes, "pgpg..p..g");
}

TEST(Schedule, DoublingEndsAtTheSpacing) {
  EXPECT_EQ(calendar({.every = 10, .doubling = true}, 31).refreshes, "pp.p...p.p.........p.........p.");
  EXPECT_EQ(calendar({.every = 8, .doubling = true}, 17).refreshes, "pp.p...p.......p.");
  EXPECT_EQ(calendar({.every = 8, .doubling = true}, 9).covers, "12.4...8.");
  EXPECT_EQ(calendar({.every = 6, .doubling = true}, 13).covers, "12.2.6.....6.") << "4 covers 4 and 5, 6 to 11 is 6";
  EXPECT_EQ(calendar({.every = 1, .doubling = true}, 5).refreshes, "ppppp");
}

TEST(Schedule, RefreshesCoverEveryStepOnce) {
  for (std::int64_t every = 1; every <= 20; ++every) {
    std::int64_t covered = 0;
    for (std::int64_t step = 1; step <= 100; ++step) {
      const Recipe recipe{.probe = Probe::imitation, .schedule = {.every = every, .doubling = true}};
      const StepPlan plan = plan_step(recipe, step);
      if (plan.refreshes()) {
        EXPECT_EQ(covered, step - 1) << "doubling up to " << every;
        covered += plan.covers;
      }
      EXPECT_GE(covered, step);
    }
  }
  for (std::int64_t every = 1; every <= 7; ++every) {
    for (std::int64_t dense = 0; dense <= 9; ++dense) {
      std::int64_t covered = 0;
      for (std::int64_t step = 1; step <= 60; ++step) {
        const StepPlan plan = plan_step({.probe = Probe::imitation, .schedule = {every, dense, false}}, step);
        if (plan.refreshes()) {
          EXPECT_EQ(covered, step - 1) << "every " << every << ", dense " << dense;
          covered += plan.covers;
        }
        EXPECT_GE(covered, step);
      }
    }
  }
}

TEST(Plan, OfEveryPresetIsItsTable) {
  struct Row {
    std::int64_t first;
    Calendar expected;
  };
  const std::map<Preset, Row> table = {
      {Preset::lehi, {1, {"pppppppppppp", "111111111111"}}},
      {Preset::lehibrid, {1, {"pgpgpgpgpgpg", "111111111111"}}},
      {Preset::lehi_gn,
       {198,
        {"mmmmgggggggg",
         "111"
         "10"
         "11111111"}}},  // the last dense steps; 201 covers ten
      {Preset::adam_simplified, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::adam, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::adamw, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::amsgrad, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::nadam, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::radam, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::adagrad, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::rmsprop, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::sgd, {1, {"............", "111111111111"}}},  // keeps no v
      {Preset::sophia_g,
       {1,
        {"p.........p.",
         "10"
         "........."
         "10"
         "."}}},
      {Preset::lion, {1, {"............", "111111111111"}}},  // keeps no v
      {Preset::muon, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::soap, {1, {"gggggggggggg", "111111111111"}}},
      {Preset::lehi_kron, {1, {"gggggggggggg", "111111111111"}}},
  };
  for (const Preset preset : all_presets()) {
    const Row& row = table.at(preset);
    const Calendar seen = calendar_of(recipe_of(preset), row.first, 12);
    EXPECT_EQ(seen.refreshes, row.expected.refreshes) << name(preset);
    EXPECT_EQ(seen.covers, row.expected.covers) << name(preset);
  }
}

// What enters the factors: "s" the probe, "g" the gradient, "b" both, "." nothing. A capital: new bases after it.
std::string factors_of(const Recipe& recipe, std::int64_t steps) {
  std::string seen;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const StepPlan plan = plan_step(recipe, step);
    EXPECT_LE(plan.gradient_bases, plan.gradient_factors);
    if (plan.gradient_factors) {
      const char source = plan.probe_factors ? 'b' : 'g';
      seen += plan.gradient_bases ? static_cast<char>(std::toupper(source)) : source;
    } else {
      seen += plan.probe_factors ? 'S' : '.';  // which always makes new bases
    }
  }
  return seen;
}

TEST(Plan, OfFactorsAndBases) {
  for (const Preset preset : all_presets()) {
    const Recipe recipe = recipe_of(preset);
    std::string expected(22, '.');
    if (preset == Preset::soap) expected = "GgggggggggGgggggggggGg";
    if (preset == Preset::lehi_kron) expected = "GGGggGggGggGggGggGggGg";
    EXPECT_EQ(factors_of(recipe, 22), expected) << name(preset);
  }
  Recipe with_probe = recipe_of(Preset::lehi_kron);
  with_probe.probe = Probe::gauss_newton;
  with_probe.schedule.every = 25;
  with_probe.kronecker.factors = FactorSource::both;
  EXPECT_EQ(factors_of(with_probe, 22), "BBGbgGgbGggGggGbgGggGg");
}

TEST(Plan, TheProbeIsPulledBackForFactorsAlone) {
  Recipe recipe{.probe = Probe::gauss_newton, .schedule = {.every = 3}, .shape = Shape::kronecker};
  const auto backward_passes = [&] {
    std::string seen;
    for (std::int64_t step = 1; step <= 7; ++step) seen += plan_step(recipe, step).second_backward() ? '2' : '1';
    return seen;
  };
  recipe.mix = Mix::gradient;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "ggggggg") << "v is made from g";
  EXPECT_EQ(calendar_of(recipe, 1, 7).covers, "1111111");
  EXPECT_EQ(backward_passes(), "2112112");
  EXPECT_EQ(factors_of(recipe, 7), "S..S..S");
  recipe.schedule.alternate = true;  // there is no probe at steps 4, 10, ...
  EXPECT_EQ(backward_passes(), "2111112");
  EXPECT_EQ(factors_of(recipe, 7), "S.....S");
  recipe.kronecker.factors = FactorSource::both;
  recipe.kronecker.basis_every = 4;
  EXPECT_EQ(factors_of(recipe, 7), "BgggGgb");
  recipe.kronecker.factors = FactorSource::gradient;  // but there is a gradient
  EXPECT_EQ(factors_of(recipe, 7), "GgggGgg");
  EXPECT_EQ(backward_passes(), "1111111");
  recipe.rule = Rule::lion;  // no v
  recipe.kronecker.factors = FactorSource::probe;
  recipe.schedule.alternate = false;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, ".......");
  EXPECT_EQ(backward_passes(), "2112112");
}

TEST(Plan, WithAMixTheGradientEntersBetweenRefreshes) {
  Recipe recipe{.probe = Probe::gauss_newton, .schedule = {.every = 3, .dense = 0}, .mix = Mix::sum};
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "+gg+gg+");
  EXPECT_EQ(calendar_of(recipe, 1, 7).covers, "3113113");
  recipe.shape = Shape::kronecker;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "+gg+gg+");
  EXPECT_EQ(calendar_of(recipe, 1, 7).covers, "1111111");
  recipe.shape = Shape::diagonal;
  recipe.mix = Mix::max;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "mggmggm");
  recipe.schedule.alternate = true;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "mgggggm");
  recipe.probe = Probe::gradient;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "ggggggg");
}

}  // namespace
}  // namespace lehi
