// Norms of arrays whose sums are exact, and entries that are not finite or beyond a limit.
#include "kernels/norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace lehi::kernels {
namespace {

template <class T>
class NormsByHand : public ::testing::Test {};
using FloatingTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NormsByHand, FloatingTypes);

// One call per chunk, in reverse order.
void backwards(void* /*context*/, std::int64_t size, std::int64_t /*grain*/, const LoopBody& body) {
  for (std::int64_t i = size; i > 0; --i) body(i - 1, i);
}

// Whole numbers: every order of addition gives the same sum. Sizes on both sides of a chunk (16,384) and its quarters.
TYPED_TEST(NormsByHand, OfWholeNumbers) {
  for (const std::int64_t size : {0, 1, 2, 3, 4, 5, 7, 67, 16'383, 16'384, 16'385, 50'003}) {
    std::vector<TypeParam> x;
    double expected = 0.0;
    for (std::int64_t i = 0; i < size; ++i) {
      const auto value = static_cast<double>(i % 97 - 48);
      x.push_back(static_cast<TypeParam>(value));
      expected += value * value;
    }
    for (const ParallelFor& parallel : {ParallelFor{}, ParallelFor{.run = backwards}}) {
      const Norms found = norms(x.data(), size, parallel);
      EXPECT_EQ(found.sum_of_squares, expected) << size;
      EXPECT_EQ(found.largest, size == 0 ? 0.0 : 48.0) << size;
      EXPECT_TRUE(found.finite);
    }
  }
}

TYPED_TEST(NormsByHand, DoNotDependOnTheOrderOfTheChunks) {
  std::vector<TypeParam> x;
  for (int i = 0; i < 100'003; ++i) x.push_back(static_cast<TypeParam>(std::sin(i)));
  const auto size = static_cast<std::int64_t>(x.size());
  EXPECT_EQ(norms(x.data(), size).sum_of_squares, norms(x.data(), size, {.run = backwards}).sum_of_squares);
}

TYPED_TEST(NormsByHand, FindOneBadEntryAnywhere) {
  constexpr TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  std::vector<TypeParam> x(40'001, TypeParam(-2));
  const auto size = static_cast<std::int64_t>(x.size());
  EXPECT_TRUE(is_within(x.data(), size, 2.0));
  EXPECT_FALSE(is_within(x.data(), size, 1.75));
  for (const std::size_t place : {std::size_t{0}, std::size_t{4'097}, std::size_t{16'384}, x.size() - 1}) {
    for (const TypeParam bad : {std::numeric_limits<TypeParam>::quiet_NaN(), infinity, -infinity}) {
      x[place] = bad;
      EXPECT_FALSE(norms(x.data(), size).finite) << place;
      EXPECT_FALSE(is_within(x.data(), size, 1e300)) << place;
    }
    x[place] = TypeParam(3);
    EXPECT_EQ(norms(x.data(), size).largest, 3.0) << place;
    EXPECT_TRUE(norms(x.data(), size).finite) << place;
    EXPECT_FALSE(is_within(x.data(), size, 2.5)) << place;
    EXPECT_TRUE(is_within(x.data(), size, 3.0)) << place;
    x[place] = TypeParam(-2);
  }
}

TEST(NormsByHand, ASumThatOverflowsIsFinite) {
  const std::vector<double> x(3, 1e200);
  EXPECT_TRUE(norms(x.data(), 3).finite);
  EXPECT_EQ(norms(x.data(), 3).largest, 1e200);
}

}  // namespace
}  // namespace lehi::kernels
