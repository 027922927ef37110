// The three largest entries of a row against a sorted copy of it.
#include "kernels/largest_logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <vector>

namespace lehi::kernels {
namespace {

void expect_largest(const std::vector<float>& row) {
  const auto found = largest_logits(row.data(), static_cast<std::int64_t>(row.size()));
  auto sorted = row;
  std::stable_sort(sorted.begin(), sorted.end(), std::greater<>());
  ASSERT_TRUE(found.finite);
  EXPECT_EQ(found.m, sorted[0]);
  EXPECT_EQ(found.p2, sorted[1]);
  EXPECT_EQ(found.p3, sorted[2]);
  const auto top = std::find(row.begin(), row.end(), sorted[0]);
  EXPECT_EQ(found.top, top - row.begin());
  const auto from = sorted[1] == sorted[0] ? top + 1 : row.begin();
  EXPECT_EQ(found.second, std::find(from, row.end(), sorted[1]) - row.begin());
}

// Few values make ties, many make none; sizes around a vector and around the segments.
TEST(LargestLogits, AreThoseOfASortedRow) {
  std::mt19937 random(1);
  for (const std::size_t size : {3, 4, 15, 16, 17, 64, 65, 1000, 32'767, 32'768, 32'769, 70'001}) {
    for (const int values : {1, 2, 3, 1000, 1'000'000}) {
      std::vector<float> row(size);
      for (float& x : row) x = static_cast<float>(static_cast<int>(random() % static_cast<unsigned>(values))) - 7.0F;
      expect_largest(row);
    }
  }
}

TEST(LargestLogits, AreFoundInEveryPlace) {
  constexpr std::size_t size = 150;
  for (std::size_t top = 0; top < size; ++top) {
    for (std::size_t second = 0; second < size; ++second) {
      if (second == top) continue;
      std::vector<float> row(size, -1e30F);
      row[top] = 2.0F;
      row[second] = 1.0F;
      expect_largest(row);
      row[second] = 2.0F;
      expect_largest(row);
    }
  }
}

TEST(LargestLogits, OfARowOfTheSmallestNumbers) {
  expect_largest(std::vector<float>(100, std::numeric_limits<float>::lowest()));
}

TEST(LargestLogits, ReportNonFiniteLogits) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t size : {3, 16, 75, 1030}) {
      for (std::size_t place = 0; place < size; ++place) {
        std::vector<float> row(size, std::numeric_limits<float>::max());
        EXPECT_TRUE(largest_logits(row.data(), static_cast<std::int64_t>(size)).finite);
        row[place] = bad;
        EXPECT_FALSE(largest_logits(row.data(), static_cast<std::int64_t>(size)).finite) << place << " of " << size;
      }
    }
  }
}

}  // namespace
}  // namespace lehi::kernels
