// Norms of gradients against torch's, and the search for numbers that are not finite.
#include "kernels/norms.h"

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
    const auto one = kernels::norms(values);
    EXPECT_NEAR(one.sum_of_squares, expected, 1e-12 * expected);  // float64 sums of 3e5 terms in another order
    EXPECT_EQ(one.largest, exact.abs().max().item<double>());
    EXPECT_TRUE(one.finite);
    for (const int threads : {2, 3}) {
      at::set_num_threads(threads);
      EXPECT_EQ(kernels::norms(values).sum_of_squares, one.sum_of_squares);
    }
  }
  at::set_num_threads(before);
}

TEST(Norms, FindWhatIsNotFiniteAnywhere) {
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    auto values = torch::full({200'001}, std::numeric_limits<float>::max(), dtype);
    EXPECT_TRUE(kernels::is_finite(values));
    for (const std::int64_t place : {0, 1, 16'384, 99'999, 200'000}) {
      for (const double bad :
           {std::nan(""), std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
        auto damaged = values.clone();
        damaged[place] = bad;
        EXPECT_FALSE(kernels::is_finite(damaged)) << place << ' ' << bad;
        EXPECT_FALSE(kernels::norms(damaged).finite) << place << ' ' << bad;
        EXPECT_FALSE(kernels::is_finite(damaged.view({1, -1}).t())) << place << ' ' << bad;
      }
    }
  }
  EXPECT_TRUE(kernels::is_finite(torch::zeros({0})));
  // Neither contiguous nor float32: by way of the norms.
  EXPECT_FALSE(kernels::is_finite(torch::full({4, 6}, NAN).slice(1, 0, 6, 2)));
  EXPECT_FALSE(kernels::is_finite(torch::full({4}, NAN, torch::kBFloat16)));
}

}  // namespace
}  // namespace lehi::testing
