// Every form and feed of the update against arithmetic done by hand, and the same bits for every division into ranges.
#include "kernels/update.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <thread>
#include <vector>

namespace lehi::kernels {
namespace {

// One weight: w = 2, g = 4, s = 8, m = 1, v = 3, v_max = 3.2.
struct Weight {
  double w = 2.0, g = 4.0, s = 8.0, m = 1.0, v = 3.0, v_max = 3.2;
};

Weight updated(Form form, Feed feed, bool with_m = true, bool with_max = false) {
  Weight x;
  const UpdateCoefficients c{.form = form,
                             .feed = feed,
                             .g_factor = 0.5,
                             .s_factor = 0.25,
                             .v_decay = 0.5,
                             .v_gain = 0.25,
                             .v_scale = 1.5,
                             .m_decay = 0.5,
                             .m_gain = 0.25,
                             .m_rate = 0.125,
                             .g_rate = 0.25,
                             .w_decay = 0.75,
                             .eps = 1.0 / 1024};
  update({&x.w, &x.g, &x.s, with_m ? &x.m : nullptr, &x.v, with_max ? &x.v_max : nullptr, 1}, c);
  EXPECT_EQ(x.g, 4.0);
  EXPECT_EQ(x.s, 8.0);
  return x;
}

// g = 2, s = 2, so that v = 0.5 * 3 + 0.25 f and m = 0.5 + 0.25 * 2 = 1.
constexpr double g = 2.0;
constexpr double m = 1.0;
constexpr double decayed = 0.75 * 2.0;
constexpr double eps = 1.0 / 1024;

TEST(UpdateByHand, EveryFeed) {
  EXPECT_EQ(updated(Form::linear, Feed::nothing).v, 3.0);
  EXPECT_EQ(updated(Form::linear, Feed::gradient).v, 1.5 + 0.25 * 4.0);
  EXPECT_EQ(updated(Form::linear, Feed::probe).v, 1.5 + 0.25 * 4.0);
  EXPECT_EQ(updated(Form::linear, Feed::probe_plus_gradient).v, 1.5 + 0.25 * 8.0);
  EXPECT_EQ(updated(Form::linear, Feed::larger).v, 1.5 + 0.25 * 4.0);
}

TEST(UpdateByHand, EveryForm) {
  const double v = 2.5;
  EXPECT_EQ(updated(Form::scaled, Feed::gradient).w, decayed - (0.125 * m + 0.25 * g) / (1.5 * std::sqrt(v) + eps));
  EXPECT_EQ(updated(Form::root_sum, Feed::gradient).w, decayed - 0.125 * m / std::sqrt(v + eps));
  EXPECT_EQ(updated(Form::clipped, Feed::gradient).w, decayed - 0.125 * (m / (1.5 * v + eps)));
  EXPECT_EQ(updated(Form::linear, Feed::gradient).w, decayed - (0.125 * m + 0.25 * g));
  const Weight quotient = updated(Form::quotient, Feed::gradient);
  EXPECT_EQ(quotient.m, 0.5 + g / (1.5 * std::sqrt(v) + eps));
  EXPECT_EQ(quotient.w, decayed - 0.125 * quotient.m);
}

TEST(UpdateByHand, TheSignFormReadsMBeforeItChanges) {
  // 1.5 m + 0.25 g = 1.5 + 0.5 > 0, whatever the feed; v is left alone.
  for (const Feed feed : {Feed::nothing, Feed::gradient, Feed::probe}) {
    const Weight x = updated(Form::sign, feed, true, /*with_max=*/true);
    EXPECT_EQ(x.w, decayed - 0.125);
    EXPECT_EQ(x.m, 0.5 + 0.25 * g);
    EXPECT_EQ(x.v, 3.0);
    EXPECT_EQ(x.v_max, 3.2);
  }
  EXPECT_EQ(updated(Form::sign, Feed::nothing, /*with_m=*/false).w, decayed - 0.125);
}

// Lion as its authors write it, a weight at a time: c = b1 m + (1-b1) g; w -= lr (sign(c) + wd w); m = b2 m + (1-b2) g.
TEST(UpdateByHand, LionFollowsAPlainLoop) {
  constexpr double b1 = 0.9;
  constexpr double b2 = 0.99;
  constexpr double lr = 0.01;
  constexpr double wd = 0.1;
  constexpr std::size_t size = 103;
  std::vector<double> w(size), expected_w(size), moment(size), expected_m(size), gradient(size);
  for (std::size_t i = 0; i < size; ++i) w[i] = expected_w[i] = std::sin(static_cast<double>(i));
  for (int step = 1; step <= 20; ++step) {
    for (std::size_t i = 0; i < size; ++i) {
      gradient[i] = i == 5 ? 0.0 : std::cos(static_cast<double>(i) * step + 0.3);
      const double c = b1 * expected_m[i] + (1 - b1) * gradient[i];
      const double sign = c > 0 ? 1.0 : c < 0 ? -1.0 : 0.0;
      expected_w[i] -= lr * (sign + wd * expected_w[i]);
      expected_m[i] = b2 * expected_m[i] + (1 - b2) * gradient[i];
    }
    update({w.data(), gradient.data(), nullptr, moment.data(), nullptr, nullptr, static_cast<std::int64_t>(size)},
           {.form = Form::sign,
            .v_scale = b1,
            .m_decay = b2,
            .m_gain = 1 - b2,
            .m_rate = lr,
            .g_rate = 1 - b1,
            .w_decay = 1 - lr * wd});
  }
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_NEAR(w[i], expected_w[i], 1e-14) << i;  // 20 roundings of numbers near 1
    EXPECT_NEAR(moment[i], expected_m[i], 1e-15) << i;
  }
  EXPECT_EQ(moment[5], 0.0);
  EXPECT_NEAR(w[5], std::sin(5.0) * std::pow(1 - lr * wd, 20), 1e-14) << "no gradient: decay alone";
}

TEST(UpdateByHand, WithoutMomentum) {
  const Weight x = updated(Form::scaled, Feed::gradient, /*with_m=*/false);
  EXPECT_EQ(x.w, decayed - 0.25 * g / (1.5 * std::sqrt(2.5) + eps));
  EXPECT_EQ(x.m, 1.0);
}

TEST(UpdateByHand, TheMaximumReplacesASmallerV) {
  const Weight kept = updated(Form::root_sum, Feed::gradient, true, /*with_max=*/true);
  EXPECT_EQ(kept.v, 2.5);
  EXPECT_EQ(kept.v_max, 3.2);
  EXPECT_EQ(kept.w, decayed - 0.125 * m / std::sqrt(3.2 + eps));
  const Weight grown = updated(Form::root_sum, Feed::probe_plus_gradient, true, true);
  EXPECT_EQ(grown.v_max, 3.5);
}

TEST(UpdateByHand, AQuotientWithDenominator0CountsAs0) {
  for (const Form form : {Form::scaled, Form::root_sum, Form::clipped, Form::quotient}) {
    float w = 1.0F;
    const float zero = 0.0F;
    float m0 = 0.0F;
    float v = 0.0F;
    update({&w, &zero, nullptr, &m0, &v, nullptr, 1}, {.form = form, .feed = Feed::gradient, .m_rate = 0.5});
    EXPECT_EQ(w, 1.0F) << static_cast<int>(form);
  }
}

struct Arrays {
  std::vector<float> w, g, s, m, v, v_max;
};

Arrays arrays_of(std::size_t size) {
  Arrays a;
  for (auto* x : {&a.w, &a.g, &a.s, &a.m, &a.v, &a.v_max}) x->reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto x = static_cast<float>(i % 1009) / 1009.0F;
    a.w.push_back(x - 0.5F);
    a.g.push_back(0.3F - x);
    a.s.push_back(x * x - 0.7F);
    a.m.push_back(0.1F * x);
    a.v.push_back(x);
    a.v_max.push_back(1.0F - x);
  }
  return a;
}

void run(Arrays& a, std::size_t size, const ParallelFor& parallel) {
  update({a.w.data(), a.g.data(), a.s.data(), a.m.data(), a.v.data(), a.v_max.data(), static_cast<std::int64_t>(size)},
         {.feed = Feed::larger,
          .v_decay = 0.99,
          .v_gain = 0.01,
          .m_decay = 0.9,
          .m_gain = 0.1,
          .m_rate = 0.01,
          .g_rate = 0.02,
          .w_decay = 0.999,
          .eps = 1e-8},
         parallel);
}

// Two threads, ranges that begin anywhere.
void two_threads(void* /*context*/, std::int64_t size, std::int64_t /*grain*/, const LoopBody& body) {
  const std::int64_t middle = size / 3;
  std::thread first([&] { body(0, middle); });
  body(middle, size);
  first.join();
}

TEST(UpdateByHand, SameBitsForEveryDivisionIntoRanges) {
  for (const std::size_t size : {1, 2, 7, 1003, 70'001}) {
    Arrays whole = arrays_of(size);
    Arrays divided = whole;
    run(whole, size, {});
    run(divided, size, {.run = two_threads});
    EXPECT_EQ(whole.w, divided.w) << size;
    EXPECT_EQ(whole.m, divided.m) << size;
    EXPECT_EQ(whole.v, divided.v) << size;
    EXPECT_EQ(whole.v_max, divided.v_max) << size;
  }
}

TEST(UpdateByHand, OfNothingReadsNothing) {
  update(UpdateArrays<float>{}, {.feed = Feed::probe});
  update(UpdateArrays<double>{}, {.form = Form::clipped});
}

}  // namespace
}  // namespace lehi::kernels
