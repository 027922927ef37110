// Random orders from seeds.
#include "data/permutation.h"

#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <torch/types.h>

#include <map>
#include <numeric>

namespace lehi::data {
namespace {

TEST(Permutation, HasEveryIndexOnce) {
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

TEST(Permutation, OfTheTestSplitIsTorchs) {
  for (const std::uint64_t seed : {0U, 1U, 4'000'000'000U}) {
    for (const std::int64_t count : {1, 10, 45'730}) {
      const auto theirs = torch::randperm(count, at::detail::createCPUGenerator(seed), torch::kInt64);
      EXPECT_TRUE(torch::tensor(permutation(count, seed, Draw::test_split)).equal(theirs)) << seed << ' ' << count;
    }
  }
}

// The values that published runs depend on, computed by scripts/reference/permutation.py.
TEST(Permutation, MatchesIndependentTranscription) {
  EXPECT_THAT(permutation(10, 0, Draw::validation_split), ::testing::ElementsAre(9, 5, 4, 6, 1, 2, 7, 3, 0, 8));
  EXPECT_THAT(permutation(10, 5'000'000'000, Draw::validation_split),
              ::testing::ElementsAre(4, 8, 3, 7, 0, 9, 1, 5, 6, 2));
  EXPECT_THAT(epoch_order(10, 0, 0), ::testing::ElementsAre(5, 4, 6, 0, 9, 8, 2, 3, 7, 1));
  EXPECT_THAT(epoch_order(10, 1, 3), ::testing::ElementsAre(6, 8, 2, 1, 3, 7, 0, 5, 9, 4));
}

TEST(EpochOrder, DiffersBetweenEpochsAndHasEveryRow) {
  EXPECT_NE(epoch_order(100, 1, 0), epoch_order(100, 1, 1));
  EXPECT_NE(epoch_order(100, 1, 0), epoch_order(100, 2, 0));
  std::vector<std::int64_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_THAT(epoch_order(100, 1, 5), ::testing::UnorderedElementsAreArray(all));
}

// The 6 orders of 3 indices, for 6,000 seeds: chi-square with 5 degrees of freedom, below 20.5 with probability 0.999.
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
