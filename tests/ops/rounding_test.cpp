// Stochastic rounding to 16 bits, against torch's own conversions and against its expected value.
#include "ops/rounding.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "support/support.h"

namespace lehi::ops {
namespace {

using lehi::testing::same_bits;
using torch::Tensor;

constexpr auto sixteen_bit_types = {torch::kBFloat16, torch::kFloat16};

Tensor rounded(const Tensor& values, torch::Dtype dtype, const WeightRounding& rounding) {
  const Tensor weights = torch::zeros(values.sizes(), dtype);
  store_rounded(weights, values, rounding);
  return weights;
}

WeightRounding with_key(std::uint64_t step) { return {.stochastic = true, .key = {.seed = 5, .step = step}}; }

// Magnitudes from the smallest subnormal numbers of both types to near their largest ones.
Tensor wide_range(torch::Dtype dtype) {
  torch::manual_seed(11);
  const double largest = dtype == torch::kFloat16 ? 15.9 : 120.0;
  const Tensor exponents = torch::rand({20000}, torch::kFloat64) * (largest + 26.0) - 26.0;
  return (torch::exp2(exponents) * torch::sign(torch::randn({20000}, torch::kFloat64))).to(torch::kFloat32);
}

TEST(Rounding, NearestIsTorchsConversion) {
  for (const auto dtype : sixteen_bit_types) {
    const Tensor values = wide_range(dtype);
    EXPECT_TRUE(same_bits(rounded(values, dtype, {}), values.to(dtype)));
  }
}

TEST(Rounding, NumbersOfTheTypeStayAsTheyAre) {
  for (const auto dtype : sixteen_bit_types) {
    const Tensor values = wide_range(dtype).to(dtype);
    EXPECT_TRUE(same_bits(rounded(values.to(torch::kFloat32), dtype, with_key(1)), values));
    const auto infinity = std::numeric_limits<float>::infinity();
    const Tensor odd = torch::tensor({infinity, -infinity, 0.0F, -0.0F});
    EXPECT_TRUE(same_bits(rounded(odd, dtype, with_key(1)), odd.to(dtype)));
    EXPECT_TRUE(rounded(torch::tensor({std::nanf("")}), dtype, with_key(1)).isnan().item<bool>());
  }
}

// The nearest number is at most half a unit away, so the other neighbour is the nearest number to value + 2 (value -
// nearest), which lies as far on the other side of it.
TEST(Rounding, GivesOneOfTheTwoNeighbours) {
  for (const auto dtype : sixteen_bit_types) {
    const Tensor values = wide_range(dtype).to(torch::kFloat64);
    const Tensor result = rounded(values.to(torch::kFloat32), dtype, with_key(2)).to(torch::kFloat64);
    const Tensor nearest = values.to(torch::kFloat32).to(dtype).to(torch::kFloat64);
    const Tensor unit = dtype == torch::kBFloat16
                            ? torch::exp2(torch::floor(torch::log2(values.abs())) - 7)
                            : torch::exp2(torch::floor(torch::log2(values.abs())).clamp_min(-14.0) - 10);
    EXPECT_TRUE(((result - values).abs() < unit).all().item<bool>());
    EXPECT_TRUE((torch::remainder(result, unit) == 0.0).all().item<bool>());
    EXPECT_FALSE(same_bits(result, nearest)) << "some go the longer way";
  }
}

// Each result is one of two numbers, a unit apart, so the mean of n has a standard deviation of at most unit / 2
// sqrt(n).
TEST(Rounding, IsRightInTheMean) {
  constexpr std::int64_t draws = 40000;
  for (const auto dtype : sixteen_bit_types) {
    for (const double value : {1.0009765625 + 1e-4, -3.3, 2.5e-5, 1.1e-7, 0.2}) {
      const double exponent = std::floor(std::log2(std::abs(value)));
      const double unit =
          dtype == torch::kBFloat16 ? std::exp2(exponent - 7) : std::exp2(std::max(exponent, -14.0) - 10);
      const Tensor values = torch::full({draws}, value, torch::kFloat32);
      const double mean = rounded(values, dtype, with_key(3)).to(torch::kFloat64).mean().item<double>();
      EXPECT_NEAR(mean, values[0].item<float>(), 5 * unit / (2 * std::sqrt(draws))) << value;
    }
  }
}

TEST(Rounding, DrawsDependOnKeyAndIndexOnly) {
  for (const auto dtype : sixteen_bit_types) {
    const Tensor values = wide_range(dtype);
    const Tensor whole = rounded(values, dtype, with_key(4));
    const Tensor pieces = torch::zeros_like(whole);
    for (std::int64_t begin = 0; begin < values.numel(); begin += 1237) {
      const auto length = std::min<std::int64_t>(1237, values.numel() - begin);
      WeightRounding rounding = with_key(4);
      rounding.first = begin;
      store_rounded(pieces.narrow(0, begin, length), values.narrow(0, begin, length), rounding);
    }
    EXPECT_TRUE(same_bits(pieces, whole));
    EXPECT_FALSE(same_bits(rounded(values, dtype, with_key(5)), whole));
    const Tensor square = values.narrow(0, 0, 10000).view({100, 100});
    const Tensor transposed = torch::zeros({100, 100}, dtype).t();
    store_rounded(transposed, square.t(), with_key(4));
    EXPECT_TRUE(same_bits(transposed.t(), whole.narrow(0, 0, 10000).view({100, 100}))) << "the index is that in memory";
  }
}

TEST(Rounding, WiderTypesAreConverted) {
  const Tensor values = torch::tensor({0.1F, -2.7F});
  EXPECT_TRUE(same_bits(rounded(values, torch::kFloat64, with_key(1)), values.to(torch::kFloat64)));
  EXPECT_TRUE(same_bits(rounded(values, torch::kFloat32, with_key(1)), values));
}

}  // namespace
}  // namespace lehi::ops
