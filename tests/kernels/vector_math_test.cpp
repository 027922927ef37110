#include "kernels/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lehi::kernels {
namespace {

template <class T>
class ExpOfNonpositive : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ExpOfNonpositive, Types);

// As in a kernel: with FMA where the machine has it, and then within 1 unit.
template <class T>
LEHI_CLONES void exps_of(const std::vector<T>& x, std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = exp_of_nonpositive(x[i]);
}

// |found - exp(x)| in units of the last place of exp(x), computed with 64 bits.
template <class T>
double error_in_ulp(T found, T x) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  const long double exact = std::exp(static_cast<long double>(x));
  const long double ulp = std::ldexp(1.0L, std::ilogb(exact) + 1 - std::numeric_limits<T>::digits);
  return static_cast<double>(std::abs(static_cast<long double>(found) - exact) / ulp);
}

// The last rounding of the polynomial is half a unit; r, the polynomial itself and, without FMA, the last product add
// their own, in units of a number that may be half as large.
TYPED_TEST(ExpOfNonpositive, IsPreciseOverItsRange) {
  using T = TypeParam;
  constexpr T least = ExpConstants<T>::least;
  constexpr T ln2 = T(0.693147180559945);
  std::vector<T> x;
  constexpr int steps = 400'000;
  for (int i = 0; i <= steps; ++i) x.push_back(least * (static_cast<T>(i) / T(steps)));
  for (T small = T(-1); small < -std::numeric_limits<T>::epsilon() / 8; small *= T(0.999)) x.push_back(small);
  for (T edge = -ln2 / 2; edge > least; edge -= ln2) {  // where k changes
    x.insert(x.end(), {std::nextafter(edge, T(0)), edge, std::nextafter(edge, least)});
  }
  std::vector<T> y(x.size());
  exps_of(x, y);
  double worst = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max({worst, error_in_ulp(y[i], x[i]), error_in_ulp(exp_of_nonpositive(x[i]), x[i])});
  }
  EXPECT_LE(worst, 1.3);
}

TYPED_TEST(ExpOfNonpositive, EndsOfItsRange) {
  using T = TypeParam;
  constexpr T least = ExpConstants<T>::least;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  for (const T x :
       {T(0), T(-0.0), T(5), std::numeric_limits<T>::max(), infinity, -std::numeric_limits<T>::denorm_min()}) {
    EXPECT_EQ(exp_of_nonpositive(x), T(1)) << x;
  }
  EXPECT_GT(exp_of_nonpositive(least), std::numeric_limits<T>::min());
  for (const T x : {std::nextafter(least, -infinity), T(2) * least, std::numeric_limits<T>::lowest(), -infinity}) {
    EXPECT_EQ(exp_of_nonpositive(x), T(0)) << x;
  }
}

// For any payload: adding exponent bits instead of multiplying would turn some NaNs into numbers.
TYPED_TEST(ExpOfNonpositive, OfNanIsNan) {
  using T = TypeParam;
  using Bits = typename ExpConstants<T>::Bits;
  const Bits quiet = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
  const Bits sign = std::bit_cast<Bits>(T(-0.0));
  std::vector<T> x;
  for (Bits payload = 0; payload < 1024; ++payload) {
    x.push_back(std::bit_cast<T>(quiet | payload));
    x.push_back(std::bit_cast<T>(quiet | payload | sign));
  }
  std::vector<T> y(x.size());
  exps_of(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_TRUE(std::isnan(y[i])) << i;
    EXPECT_TRUE(std::isnan(exp_of_nonpositive(x[i]))) << i;
    EXPECT_TRUE(std::isnan(sigmoid(x[i]))) << i;
  }
}

TYPED_TEST(ExpOfNonpositive, GivesAPreciseSigmoid) {
  using T = TypeParam;
  for (T x = T(-80); x <= T(80); x += T(0.37)) {
    const long double exact = 1.0L / (1.0L + std::exp(-static_cast<long double>(x)));
    EXPECT_LE(std::abs(static_cast<long double>(sigmoid(x)) - exact), 2 * std::numeric_limits<T>::epsilon() * exact)
        << x;
  }
  EXPECT_EQ(sigmoid(T(-3000)), T(0));
  EXPECT_EQ(sigmoid(T(3000)), T(1));
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
    EXPECT_EQ(lane_sum<float>(n, [&](std::int64_t i) { return static_cast<float>(x[static_cast<std::size_t>(i)]); }),
              sum);
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
