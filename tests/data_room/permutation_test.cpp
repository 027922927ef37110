// Orders from seeds.
#include "data/permutation.h"

#include <gmock/gmock.h>

#include <map>
#include <numeric>
#include <random>

namespace lehi::data {
namespace {

TEST(Permutation, HoldsEveryIndexOnce) {
  auto order = permutation(1000, 7, Draw::test_split);
  std::vector<std::int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_NE(order, all);
  EXPECT_THAT(order, ::testing::UnorderedElementsAreArray(all));
  EXPECT_TRUE(permutation(0, 7, Draw::test_split).empty());
}

TEST(Permutation, DependsOnEveryBitOfSeedAndPurpose) {
  const auto order = permutation(100, 1, Draw::test_split);
  EXPECT_EQ(permutation(100, 1, Draw::test_split), order);
  EXPECT_NE(permutation(100, 2, Draw::test_split), order);
  EXPECT_NE(permutation(100, 1 + (std::uint64_t{1} << 32), Draw::test_split), order);
  EXPECT_NE(permutation(100, 1, Draw::validation_split), order);
}

// The generator that the header names, and the values that a published run depends on
// (scripts/reference/permutation.py).
TEST(Permutation, MatchesIndependentTranscription) {
  EXPECT_THAT(permutation(10, 0, Draw::test_split), ::testing::ElementsAre(6, 3, 2, 1, 7, 5, 8, 4, 0, 9));
  EXPECT_THAT(permutation(10, 5'000'000'000, Draw::validation_split),
              ::testing::ElementsAre(9, 0, 7, 4, 2, 1, 6, 5, 8, 3));
}

// 6 orders of 3 things, 6,000 seeds: chi-square with 5 degrees of freedom, below 20.5 with probability 0.999.
TEST(Permutation, EveryOrderIsEquallyLikely) {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) ++counts[permutation(3, seed, Draw::test_split)];
  ASSERT_EQ(counts.size(), 6U);
  double chi_square = 0.0;
  for (const auto& [order, count] : counts) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 20.5);
}

}  // namespace
}  // namespace lehi::data
