#include "kernels/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace lehi::kernels {
namespace {

// Two roundings at the end of the polynomial and the shift: below 2 units in the last place everywhere.
TEST(ExpOfNonpositive, AgreesWithTheStandardLibrary) {
  for (double x = -707.9; x <= 0.0; x += 0.00731) {
    const double expected = std::exp(x);
    ASSERT_NEAR(exp_of_nonpositive(x) / expected, 1.0, 4.5e-16) << x;
  }
}

TEST(ExpOfNonpositive, EndsOfItsRange) {
  EXPECT_EQ(exp_of_nonpositive(0.0), 1.0);
  EXPECT_EQ(exp_of_nonpositive(-0.0), 1.0);
  EXPECT_EQ(exp_of_nonpositive(5.0), 1.0);
  EXPECT_EQ(exp_of_nonpositive(-708.5), 0.0);
  EXPECT_EQ(exp_of_nonpositive(-1e300), 0.0);
  EXPECT_EQ(exp_of_nonpositive(-1e-300), 1.0);
}

TEST(Lanes, SumsAndMaximaOfEverySize) {
  for (std::int64_t n = 0; n <= 40; ++n) {
    std::vector<double> x;
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<double>((i * 7) % 41) - 20.0);
    double largest = -100.0;
    for (const double value : x) {
      sum += value;
      largest = std::max(largest, value);
    }
    EXPECT_EQ(lane_sum(n, [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; }), sum) << n;
    EXPECT_EQ(lane_max(x.data(), n, -100.0), largest) << n;
  }
}

TEST(AllFinite, FindsWhatIsNotInEveryPlace) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (std::size_t place = 0; place < 19; ++place) {
      std::vector<float> x(19, std::numeric_limits<float>::max());
      EXPECT_TRUE(all_finite(x.data(), 19));
      x[place] = bad;
      EXPECT_FALSE(all_finite(x.data(), 19)) << place;
      EXPECT_TRUE(all_finite(x.data(), static_cast<std::int64_t>(place)));
    }
  }
  const std::vector<double> large = {std::numeric_limits<double>::lowest(), 5e-324};
  EXPECT_TRUE(all_finite(large.data(), 2));
}

}  // namespace
}  // namespace lehi::kernels
