// The presets with random probes: sophia-g and lehi-gn against their equations written out again. The random vector is
// the loss's own for the key (seed, step, row 0, stream 0); everything after it is independent.
#include "optim/transcription.h"

namespace lehi::testing {
namespace {

constexpr std::uint64_t kSeed = 11;

struct SophiaNumbers {
  double lr = 0.01;
  double b1 = 0.965;
  double b2 = 0.99;
  double eps = 1e-12;
  double rho = 0.05;
  double wd = 0.2;
};

//   m <- b1 m + (1-b1) g;  at steps 1, 11, 21, ...: h <- b2 h + (1-b2) s^2;
//   w <- w (1 - lr wd) - lr sign(m) min(|m| / (rho B h + eps), 1)
auto sophia(const SophiaNumbers& n) {
  return [n](const Problem& problem) {
    return [n, &problem, m = Vector(), h = Vector()](Vector& w, std::int64_t step) mutable {
      m.resize(w.size());
      h.resize(w.size());
      const Seen seen(problem, w, step);
      const Vector g = seen.gradient();
      if (step % 10 == 1) {
        const Vector s = seen.random(Probe::sampled_label, kSeed);
        for (std::size_t i = 0; i < w.size(); ++i) h[i] = n.b2 * h[i] + (1 - n.b2) * s[i] * s[i];
      }
      for (std::size_t i = 0; i < w.size(); ++i) {
        m[i] = n.b1 * m[i] + (1 - n.b1) * g[i];
        const double size = std::min(std::abs(m[i]) / (n.rho * problem.count() * h[i] + n.eps), 1.0);
        w[i] = w[i] * (1 - n.lr * n.wd) - n.lr * std::copysign(size, m[i]);
      }
    };
  };
}

struct GaussNewtonNumbers {
  double lr = 0.01;
  double b1 = 0.9;
  double b2 = 0.999;
  double eps = 1e-8;
  std::int64_t every = 10;
  std::int64_t dense = 200;
  Mix mix = Mix::none;
};

//   m <- b1 m + (1-b1) g;  v <- b2^n v + (1-b2^n) s^2;  w <- w - lr m/(1-b1^k) / (sqrt(v/(1-b2^t)) + eps)
// With a mix, s^2 + g^2 or max(s^2, g^2) instead of s^2, and v <- b2 v + (1-b2) g^2 at the other steps.
auto gauss_newton(const GaussNewtonNumbers& n) {
  return [n](const Problem& problem) {
    return [n, &problem, m = Vector(), v = Vector(), covered = std::int64_t{0}](Vector& w, std::int64_t step) mutable {
      m.resize(w.size());
      v.resize(w.size());
      const Seen seen(problem, w, step);
      const Vector g = seen.gradient();
      if (!refresh_due(step, n.every, n.dense)) {
        if (n.mix != Mix::none) {
          ++covered;
          for (std::size_t i = 0; i < w.size(); ++i) v[i] = n.b2 * v[i] + (1 - n.b2) * g[i] * g[i];
        }
      } else {
        const Vector s = seen.random(Probe::gauss_newton, kSeed);
        covered += steps_covered(step, n.every, n.dense);
        const double keep = std::pow(n.b2, static_cast<double>(steps_covered(step, n.every, n.dense)));
        for (std::size_t i = 0; i < w.size(); ++i) {
          const double s2 = s[i] * s[i];
          const double g2 = g[i] * g[i];
          const double fed = n.mix == Mix::none ? s2 : n.mix == Mix::sum ? s2 + g2 : std::max(s2, g2);
          v[i] = keep * v[i] + (1 - keep) * fed;
        }
      }
      const double first = 1 - std::pow(n.b1, static_cast<double>(step));
      const double second = 1 - std::pow(n.b2, static_cast<double>(covered));
      for (std::size_t i = 0; i < w.size(); ++i) {
        m[i] = n.b1 * m[i] + (1 - n.b1) * g[i];
        w[i] -= n.lr * (m[i] / first) / (std::sqrt(v[i] / second) + n.eps);
      }
    };
  };
}

TEST(RandomProbeReference, SophiaGFollowsItsAuthorsRule) {
  expect_transcribed_path(SophiaGOptions(0.003).seed(kSeed), sophia({.lr = 0.003}));
}

TEST(RandomProbeReference, SophiaGWithOtherNumbersFollowsItsAuthorsRule) {
  expect_transcribed_path(SophiaGOptions(0.01).betas(0.5, 0.9).eps(1e-2).rho(2.0).weight_decay(0.0).seed(kSeed),
                          sophia({.b1 = 0.5, .b2 = 0.9, .eps = 1e-2, .rho = 2.0, .wd = 0.0}));
}

TEST(RandomProbeReference, SophiaGDefaultsAreThePapers) {
  const auto group = preset(Preset::sophia_g).group;
  EXPECT_EQ(group.beta1, 0.965);
  EXPECT_EQ(group.beta2, 0.99);
  EXPECT_EQ(group.eps, 1e-12);
  EXPECT_EQ(group.rho, 0.05);
  EXPECT_EQ(group.weight_decay, 0.2);
}

Options lehi_gn(const GaussNewtonNumbers& n) {
  return LehiGnOptions(n.lr).betas(n.b1, n.b2).eps(n.eps).refresh_every(n.every, n.dense).mix(n.mix).seed(kSeed);
}

void expect_gauss_newton_path(const GaussNewtonNumbers& n) { expect_transcribed_path(lehi_gn(n), gauss_newton(n)); }

TEST(RandomProbeReference, LehiGnIsAdamOnTheProbe) { expect_gauss_newton_path({.lr = 0.003, .dense = 200}); }

TEST(RandomProbeReference, LehiGnRefreshesEveryTenAfterADenseStart) {
  expect_gauss_newton_path({.lr = 0.003, .b2 = 0.99, .every = 10, .dense = 20});
}

TEST(RandomProbeReference, LehiGnRefreshesWithoutADenseStart) {
  expect_gauss_newton_path({.lr = 0.002, .b1 = 0.5, .b2 = 0.95, .eps = 1e-2, .every = 3, .dense = 0});
}

TEST(RandomProbeReference, LehiGnsOwnRecipe) {
  expect_transcribed_path(LehiGnOptions(0.003).seed(kSeed), gauss_newton({.lr = 0.003, .mix = Mix::max}));
  expect_transcribed_path(LehiGnOptions(0.003).refresh_every(10, 20).seed(kSeed),
                          gauss_newton({.lr = 0.003, .dense = 20, .mix = Mix::max}));
}

TEST(RandomProbeReference, MixSumAddsTheSquaredGradient) {
  expect_gauss_newton_path({.lr = 0.003, .b2 = 0.99, .every = 4, .dense = 10, .mix = Mix::sum});
}

TEST(RandomProbeReference, MixMaxTakesTheLargerSquare) {
  expect_gauss_newton_path({.lr = 0.003, .b2 = 0.99, .every = 4, .dense = 10, .mix = Mix::max});
}

TEST(RandomProbeReference, AnotherSeedTakesAnotherPath) {
  const auto problem = make_problem("network", torch::kFloat64);
  const auto one = fresh(problem.start);
  const auto two = fresh(problem.start);
  LehiGn first(one, LehiGnOptions(0.01).seed(1));
  LehiGn second(two, LehiGnOptions(0.01).seed(2));
  take_step(first, problem, one, 1);
  take_step(second, problem, two, 1);
  EXPECT_GT(relative_difference(flat(one), flat(two)), 1e-4);
}

}  // namespace
}  // namespace lehi::testing
