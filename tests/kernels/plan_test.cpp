// What each step needs: which steps refresh, what with, how many steps a refresh covers, and the table of every preset.
#include "plan/plan.h"

#include <gtest/gtest.h>

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
    EXPECT_EQ(plan.second_backward(), std::string("p+m").find(letter(plan.feed)) != std::string::npos);
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

TEST(Schedule, RefreshesCoverEveryStepOnce) {
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
  };
  for (const Preset preset : all_presets()) {
    const Row& row = table.at(preset);
    const Calendar seen = calendar_of(recipe_of(preset), row.first, 12);
    EXPECT_EQ(seen.refreshes, row.expected.refreshes) << name(preset);
    EXPECT_EQ(seen.covers, row.expected.covers) << name(preset);
  }
}

TEST(Plan, WithAMixTheGradientEntersBetweenRefreshes) {
  Recipe recipe{.probe = Probe::gauss_newton, .schedule = {.every = 3, .dense = 0}, .mix = Mix::sum};
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "+gg+gg+");
  EXPECT_EQ(calendar_of(recipe, 1, 7).covers, "3113113");
  recipe.mix = Mix::max;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "mggmggm");
  recipe.schedule.alternate = true;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "mgggggm");
  recipe.probe = Probe::gradient;
  EXPECT_EQ(calendar_of(recipe, 1, 7).refreshes, "ggggggg");
}

}  // namespace
}  // namespace lehi
