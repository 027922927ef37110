// Norms of tensors against torch's, and the search for entries that are not finite.
#include "ops/norms.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace lehi::testing {
namespace {

TEST(Norms, AreTorchsWhateverTheThreads) {
  torch::manual_seed(5);
  const int before = at::get_num_threads();
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    const auto values = torch::randn({300'007}, dtype);
    const auto exact = values.to(torch::kFloat64);
    const double expected = exact.square().sum().item<double>();
    at::set_num_threads(1);
    const auto one = ops::norms(values);
    EXPECT_NEAR(one.sum_of_squares, expected, 1e-12 * expected);  // float64 sums of 3e5 terms in another order
    EXPECT_EQ(one.largest, exact.abs().max().item<double>());
    EXPECT_TRUE(one.finite);
    for (const int threads : {2, 3}) {
      at::set_num_threads(threads);
      EXPECT_EQ(ops::norms(values).sum_of_squares, one.sum_of_squares);
    }
  }
  at::set_num_threads(before);
}

// Sizes with every remainder, whole numbers so that every order gives the same sum, and the largest entry in
// every place.
TEST(Norms, OfEverySizeAndWithTheLargestAnywhere) {
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    for (const std::int64_t size : {0, 1, 2, 3, 4, 5, 7, 31, 34, 67, 16'383, 16'384, 16'385, 32'771}) {
      auto values = torch::arange(size, dtype).remainder(97) - 48;
      const double expected = values.to(torch::kFloat64).square().sum().item<double>();
      EXPECT_EQ(ops::norms(values).sum_of_squares, expected) << size;
      for (const std::int64_t place : {std::int64_t{0}, size / 4, size / 2, 3 * size / 4, size - 1}) {
        if (place < 0 || place >= size) continue;
        for (const double large : {1000.0, -1000.0}) {
          auto changed = values.clone();
          changed[place] = large;
          EXPECT_EQ(ops::norms(changed).largest, 1000.0) << size << ' ' << place;
        }
      }
    }
  }
}

TEST(Norms, OfViewsAndOtherTypes) {
  torch::manual_seed(6);
  const auto values = torch::randint(-100, 100, {301, 70}).to(torch::kFloat32);
  for (const auto& view : {values.t(), values.slice(1, 3, 70, 2), values.flatten().slice(0, 1),
                           values[5].expand({4, 70}), values.to(torch::kBFloat16)}) {
    const auto exact = view.to(torch::kFloat64);
    const auto found = ops::norms(view);
    EXPECT_EQ(found.sum_of_squares, exact.square().sum().item<double>());
    EXPECT_EQ(found.largest, exact.abs().max().item<double>());
    EXPECT_TRUE(found.finite);
  }
}

TEST(Norms, FindWhatIsNotFiniteAnywhere) {
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    auto values = torch::full({200'001}, std::numeric_limits<float>::max(), dtype);
    EXPECT_TRUE(ops::is_finite(values));
    for (const std::int64_t place : {0, 1, 4'096, 8'192, 12'288, 16'384, 99'999, 199'999, 200'000}) {
      for (const double bad :
           {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        auto damaged = values.clone();
        damaged[place] = bad;
        EXPECT_FALSE(ops::is_finite(damaged)) << place << ' ' << bad;
        EXPECT_FALSE(ops::norms(damaged).finite) << place << ' ' << bad;
        EXPECT_FALSE(ops::is_finite(damaged.view({1, -1}).t())) << place << ' ' << bad;
      }
    }
  }
  EXPECT_TRUE(ops::is_finite(torch::zeros({0})));
  // Not contiguous or not float32: computed from the norms.
  EXPECT_FALSE(ops::is_finite(torch::full({4, 6}, NAN).slice(1, 0, 6, 2)));
  EXPECT_FALSE(ops::is_finite(torch::full({4}, NAN, torch::kBFloat16)));
}

TEST(Norms, SeeOneEntryBeyondALimitAnywhere) {
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    for (const std::int64_t place : {0, 15, 16384, 40000}) {
      torch::Tensor x = torch::full({40001}, -2.0, dtype);
      EXPECT_TRUE(ops::is_within(x, 2.0));
      x[place] = 2.5;
      EXPECT_FALSE(ops::is_within(x, 2.0)) << place;
      EXPECT_TRUE(ops::is_within(x, 2.5)) << place;
      EXPECT_TRUE(ops::is_within(x, 1e300)) << "a limit beyond float32 is none";
      x[place] = NAN;
      EXPECT_FALSE(ops::is_within(x, 1e300)) << place;
    }
  }
  EXPECT_FALSE(ops::is_within(torch::full({4}, 3.0, torch::kBFloat16), 2.0));
}

}  // namespace
}  // namespace lehi::testing
