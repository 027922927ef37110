// Which steps refresh, what with, and how many steps each refresh covers.
#include <gtest/gtest.h>

#include <string>

#include "lehi/recipe.h"

namespace lehi {
namespace {

// "p" a refresh with the probe, "g" one with the gradient, "." none; and the steps covered, added up.
struct Calendar {
  std::string refreshes;
  std::string covers;
};

Calendar calendar(const Schedule& schedule, std::int64_t steps) {
  Calendar seen;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const auto refresh = refresh_at(schedule, step);
    seen.refreshes += !refresh.due ? '.' : refresh.use_gradient ? 'g' : 'p';
    seen.covers += refresh.due ? std::to_string(refresh.covers) : ".";
  }
  return seen;
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
        const auto refresh = refresh_at({every, dense, false}, step);
        if (refresh.due) {
          EXPECT_EQ(covered, step - 1) << "every " << every << ", dense " << dense;
          covered += refresh.covers;
        }
        EXPECT_GE(covered, step);
      }
    }
  }
}

}  // namespace
}  // namespace lehi
