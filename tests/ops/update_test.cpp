// The fused update against the plain one, and both against arithmetic done by hand.
#include "ops/update.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>

#include "ops/norms.h"
#include "support/support.h"

namespace lehi::ops {
namespace {

using kernels::Feed;
using kernels::Form;
using kernels::Norms;
using kernels::UpdateCoefficients;
using lehi::testing::relative_difference;
using lehi::testing::same_bits;
using torch::Tensor;

UpdateTensors random_tensors(std::int64_t size, torch::Dtype dtype) {
  torch::manual_seed(7);
  const auto options = torch::TensorOptions().dtype(dtype);
  return {torch::randn({size}, options), torch::randn({size}, options),      torch::randn({size}, options),
          torch::randn({size}, options), torch::rand({size}, options) + 0.1, torch::rand({size}, options)};
}

UpdateTensors copy_of(const UpdateTensors& t) {
  return {t.w.clone(), t.g.clone(), t.s.clone(), t.m.clone(), t.v.clone(), t.v_max.clone()};
}

UpdateCoefficients some_coefficients(Form form, Feed feed) {
  return {.form = form,
          .feed = feed,
          .g_factor = 0.5,
          .s_factor = 0.25,
          .v_decay = 0.9,
          .v_gain = 0.1,
          .v_scale = 1.5,
          .m_decay = 0.8,
          .m_gain = 0.2,
          .m_rate = 0.01,
          .g_rate = 0.02,
          .w_decay = 0.99,
          .eps = 1e-3};
}

constexpr auto forms = {Form::scaled, Form::root_sum, Form::clipped, Form::linear, Form::quotient, Form::sign};
constexpr auto feeds = {Feed::nothing, Feed::gradient, Feed::probe, Feed::probe_plus_gradient, Feed::larger};

// The two paths round in a different order: a few units in the last place of each dtype.
double tolerance(torch::Dtype dtype) { return dtype == torch::kFloat32 ? 1e-6 : 1e-15; }

TEST(Update, ScaledFormMatchesHandComputation) {
  const auto one = [](double x) { return torch::full({1}, x, torch::kFloat64); };
  const UpdateTensors t{one(2.0), one(4.0), one(8.0), one(1.0), one(3.0), {}};
  // g = 2, s = 2, v = .9 * 3 + .1 * 4 = 3.1, m = .8 * 1 + .2 * 2 = 1.2
  update(t, some_coefficients(Form::scaled, Feed::probe));
  EXPECT_DOUBLE_EQ(t.v.item<double>(), 3.1);
  EXPECT_DOUBLE_EQ(t.m.item<double>(), 1.2);
  EXPECT_DOUBLE_EQ(t.w.item<double>(), 1.98 - (0.012 + 0.04) / (1.5 * std::sqrt(3.1) + 1e-3));
  EXPECT_EQ(t.g.item<double>(), 4.0) << "a gradient is never changed";
}

TEST(Update, ClippedFormMatchesHandComputation) {
  const UpdateTensors t{torch::zeros(3, torch::kFloat64),
                        torch::zeros(3, torch::kFloat64),
                        {},
                        torch::tensor({1.0, -1.0, 1e-4}, torch::kFloat64),
                        torch::zeros(3, torch::kFloat64),
                        {}};
  update(t, {.form = Form::clipped, .m_decay = 1.0, .m_gain = 0.0, .m_rate = 0.5, .eps = 1e-3});
  EXPECT_DOUBLE_EQ(t.w[0].item<double>(), -0.5);
  EXPECT_DOUBLE_EQ(t.w[1].item<double>(), 0.5);
  EXPECT_DOUBLE_EQ(t.w[2].item<double>(), -0.5 * 0.1);
}

TEST(Update, LinearFormStillFeedsTheAccumulator) {
  UpdateTensors t = random_tensors(5, torch::kFloat64);
  const Tensor expected = t.v * 0.9 + (t.g * 0.5).square() * 0.1;
  update(t, some_coefficients(Form::linear, Feed::gradient));
  EXPECT_LT(relative_difference(t.v, expected), 1e-15);
}

TEST(Update, FusedAgreesWithPlainForEveryFormFeedSizeAndDtype) {
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    for (const std::int64_t size : {0, 1, 7, 64, 1003, 70001}) {
      for (const Form form : forms) {
        for (const Feed feed : feeds) {
          const UpdateTensors fused = random_tensors(size, dtype);
          const UpdateTensors plain = copy_of(fused);
          ASSERT_TRUE(can_fuse(fused));
          update(fused, some_coefficients(form, feed));
          update_plain(plain, some_coefficients(form, feed));
          using Pair = std::pair<Tensor, Tensor>;
          for (const auto& [a, b] : {Pair{fused.w, plain.w}, Pair{fused.m, plain.m}, Pair{fused.v, plain.v},
                                     Pair{fused.v_max, plain.v_max}}) {
            EXPECT_LE(relative_difference(a, b), tolerance(dtype))
                << "form " << static_cast<int>(form) << " feed " << static_cast<int>(feed) << " size " << size;
          }
          EXPECT_TRUE(same_bits(fused.g, plain.g));
          EXPECT_TRUE(same_bits(fused.s, plain.s));
        }
      }
    }
  }
}

TEST(Update, WithoutMomentumOrMaximumAgreesToo) {
  for (const Form form : {Form::scaled, Form::linear}) {
    UpdateTensors fused = random_tensors(1003, torch::kFloat64);
    fused.m = fused.v_max = fused.s = Tensor();
    UpdateTensors plain{fused.w.clone(), fused.g.clone(), {}, {}, fused.v.clone(), {}};
    update(fused, some_coefficients(form, Feed::gradient));
    update_plain(plain, some_coefficients(form, Feed::gradient));
    EXPECT_LE(relative_difference(fused.w, plain.w), 1e-15);
    EXPECT_LE(relative_difference(fused.v, plain.v), 1e-15);
  }
}

TEST(Update, MisalignedViewsAndChannelsLastTakeTheFusedPath) {
  const UpdateTensors base = random_tensors(1004, torch::kFloat32);
  const auto shifted = [](const UpdateTensors& t) {
    return UpdateTensors{t.w.slice(0, 1), t.g.slice(0, 1), t.s.slice(0, 1),
                         t.m.slice(0, 1), t.v.slice(0, 1), t.v_max.slice(0, 1)};
  };
  const UpdateTensors fused = shifted(copy_of(base));
  const UpdateTensors plain = shifted(copy_of(base));
  ASSERT_TRUE(can_fuse(fused));
  update(fused, some_coefficients(Form::scaled, Feed::larger));
  update_plain(plain, some_coefficients(Form::scaled, Feed::larger));
  EXPECT_LE(relative_difference(fused.w, plain.w), 1e-6);

  const auto image = torch::randn({2, 3, 4, 5}).to(torch::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(can_fuse({image, image.clone(), {}, image.clone(), image.abs(), {}}));
  EXPECT_FALSE(can_fuse({image, image.contiguous(), {}, image.clone(), image.abs(), {}}))
      << "another memory order: index i is another weight";
}

TEST(Update, StridedWeightsTakeThePlainPathWithTheSameResult) {
  const UpdateTensors base = random_tensors(100, torch::kFloat64);
  const Tensor wide = torch::zeros({100, 2}, torch::kFloat64);
  wide.select(1, 0).copy_(base.w);
  UpdateTensors strided = copy_of(base);
  strided.w = wide.select(1, 0);
  const UpdateTensors dense = copy_of(base);
  ASSERT_FALSE(can_fuse(strided));
  update(strided, some_coefficients(Form::root_sum, Feed::probe));
  update(dense, some_coefficients(Form::root_sum, Feed::probe));
  EXPECT_LE(relative_difference(strided.w, dense.w), 1e-15);
  EXPECT_EQ(wide.select(1, 1).abs().sum().item<double>(), 0.0) << "the neighbours are untouched";
}

TEST(Update, HalfPrecisionWeightsKeepFloat32State) {
  const UpdateTensors exact = random_tensors(64, torch::kFloat32);
  const auto low = exact.w.to(torch::kBFloat16);
  const UpdateTensors mixed{low.clone(), exact.g, exact.s, exact.m.clone(), exact.v.clone(), {}};
  ASSERT_TRUE(can_fuse(mixed));
  update(mixed, some_coefficients(Form::scaled, Feed::probe));
  const UpdateTensors reference{low.to(torch::kFloat32), exact.g, exact.s, exact.m.clone(), exact.v.clone(), {}};
  update(reference, some_coefficients(Form::scaled, Feed::probe));
  EXPECT_EQ(mixed.w.scalar_type(), torch::kBFloat16);
  EXPECT_LE(relative_difference(mixed.m, reference.m), 1e-6);
  // The two paths round float32 differently; rounding to bfloat16 changes a number by at most 2^-8 of it.
  const Tensor rounding = (std::ldexp(1.0, -8) + 1e-6) * reference.w.abs();
  EXPECT_TRUE(((mixed.w.to(torch::kFloat32) - reference.w).abs() <= rounding).all().item<bool>());
}

TEST(Update, NanReachesTheWeightsInBothPaths) {
  for (const Form form : forms) {
    UpdateTensors fused = random_tensors(9, torch::kFloat32);
    fused.g[4] = std::numeric_limits<float>::quiet_NaN();
    const UpdateTensors plain = copy_of(fused);
    update(fused, some_coefficients(form, Feed::gradient));
    update_plain(plain, some_coefficients(form, Feed::gradient));
    EXPECT_TRUE(torch::equal(fused.w.isnan(), plain.w.isnan())) << "form " << static_cast<int>(form);
    EXPECT_TRUE(fused.w[4].isnan().item<bool>());
    EXPECT_EQ(fused.w.isnan().sum().item<std::int64_t>(), 1);
  }
}

// eps = 0 and a denominator of 0: the gradient is 0, or its square underflows in float32.
TEST(Update, AWeightWithoutAScaleDoesNotChange) {
  for (const bool plain : {false, true}) {
    const auto run = plain ? update_plain : update;
    for (const Form form : {Form::scaled, Form::root_sum, Form::clipped, Form::quotient}) {
      const UpdateTensors t{
          torch::ones(3), torch::tensor({0.0F, 1e-30F, 2.0F}), {}, torch::zeros(3), torch::zeros(3), {}};
      UpdateCoefficients c = some_coefficients(form, Feed::gradient);
      c.g_factor = c.w_decay = 1.0;
      c.eps = 0.0;
      run(t, c, {});
      EXPECT_EQ(t.w[0].item<float>(), 1.0F) << static_cast<int>(form);
      // In the clipped form m / 0 is the sign of m.
      EXPECT_EQ(t.w[1].item<float>(), form == Form::clipped ? 1.0F - 0.01F : 1.0F) << static_cast<int>(form);
      EXPECT_LT(t.w[2].item<float>(), 1.0F) << static_cast<int>(form);
      EXPECT_TRUE(torch::isfinite(t.w).all().item<bool>() && torch::isfinite(t.m).all().item<bool>());
    }
  }
}

TEST(Norms, AgreeWithTorchAndDoNotDependOnThreads) {
  torch::manual_seed(3);
  for (const std::int64_t size : {0, 1, 15, 16, 17, 16384, 100003}) {
    const Tensor x = torch::randn({size}, torch::kFloat64);
    const int threads = at::get_num_threads();
    const Norms many = norms(x);
    at::set_num_threads(1);
    const Norms one = norms(x);
    at::set_num_threads(threads);
    EXPECT_EQ(many.sum_of_squares, one.sum_of_squares);
    EXPECT_NEAR(many.sum_of_squares, x.square().sum().item<double>(), 1e-12 * static_cast<double>(size));
    EXPECT_EQ(many.largest, size == 0 ? 0.0 : x.abs().max().item<double>());
    EXPECT_TRUE(many.finite);
  }
}

TEST(Norms, SeeOneNonFiniteEntryAnywhereAndAreNotFooledByOverflow) {
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    for (const std::int64_t place : {0, 20, 40000}) {
      Tensor x = torch::ones({40001}, torch::kFloat32);
      x[place] = bad;
      EXPECT_FALSE(norms(x).finite);
    }
  }
  EXPECT_TRUE(norms(torch::full({3}, 1e200, torch::kFloat64)).finite);
  EXPECT_FALSE(norms(torch::ones({4, 4}).t().slice(0, 0, 3) / 0.0).finite) << "non-contiguous input";
}

// Weights of 16 bits: the float32 kernel on the widened numbers, then one rounding.
TEST(Update, SixteenBitWeightsAreComputedInFloat32) {
  constexpr std::int64_t size = 40000;  // several stretches and threads
  for (const auto dtype : {torch::kBFloat16, torch::kFloat16}) {
    for (const bool wide_gradients : {false, true}) {
      for (const Form form : forms) {
        for (const Feed feed : feeds) {
          UpdateTensors wide = random_tensors(size, torch::kFloat32);
          for (Tensor* tensor : {&wide.w, &wide.g, &wide.s}) *tensor = tensor->to(dtype).to(torch::kFloat32);
          const auto inputs = wide_gradients ? torch::kFloat32 : dtype;
          UpdateTensors narrow = copy_of(wide);
          narrow.w = wide.w.to(dtype);
          narrow.g = wide.g.to(inputs);
          narrow.s = wide.s.to(inputs);
          ASSERT_TRUE(can_fuse(narrow));
          const WeightRounding rounding{.stochastic = true, .key = {.seed = 3, .step = 2}, .first = 5};
          const UpdateCoefficients coefficients = some_coefficients(form, feed);
          update(narrow, coefficients, rounding);
          update(wide, coefficients);
          EXPECT_TRUE(same_bits(narrow.m, wide.m));
          EXPECT_TRUE(same_bits(narrow.v, wide.v));
          const Tensor expected = torch::zeros({size}, dtype);
          store_rounded(expected, wide.w, rounding);
          EXPECT_TRUE(same_bits(narrow.w, expected));
        }
      }
    }
  }
}

TEST(Update, SixteenBitWeightsInAnotherOrderThanTheirGradients) {
  UpdateTensors t = random_tensors(60, torch::kFloat32);
  const UpdateCoefficients coefficients = some_coefficients(Form::scaled, Feed::gradient);
  const auto shaped = [](const Tensor& tensor) { return tensor.view({6, 10}); };
  UpdateTensors same{shaped(t.w).to(torch::kBFloat16), shaped(t.g), {}, shaped(t.m), shaped(t.v), {}};
  UpdateTensors other = copy_of({same.w, same.g, same.g, same.m, same.v, same.v});
  other.s = other.v_max = Tensor();
  other.g = same.g.t().contiguous().t();
  ASSERT_FALSE(can_fuse(other));
  const WeightRounding rounding{.stochastic = true};
  update(same, coefficients, rounding);
  update(other, coefficients, rounding);
  const Tensor apart = (same.w.to(torch::kFloat32) - other.w.to(torch::kFloat32)).abs();
  EXPECT_LE(apart.max().item<float>(), 0.02F) << "a unit at most, where float32 rounds differently";
  EXPECT_LE((apart > 0).sum().item<std::int64_t>(), 1);
}

}  // namespace
}  // namespace lehi::ops
