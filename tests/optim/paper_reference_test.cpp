// The paper's optimizers against Algorithms 1 and 2 written out again: adam-simplified, lehi, lehibrid, and lehi with
// its probe refreshed every few steps.
#include "optim/transcription.h"

namespace lehi::testing {
namespace {

enum class Second { gradient, imitation, alternating };

struct Numbers {
  Second second;
  double a;
  double b1 = 0.9;
  double b2 = 0.999;
  double eps = 1e-7;
  double wd = 0.0;
  std::int64_t every = 1;
  std::int64_t dense = 0;
};

//   m <- b1 m + g;  v <- b2^n v + (1-b2^n)/(1-b2) s^2;  a_k = a (1-b1) sqrt(1-b2^t)/sqrt(1-b2);  w <- w - a_k
//   m/sqrt(eps+v)
auto algorithm(const Numbers& n) {
  return [n](const Problem& problem) {
    return [n, &problem, m = Vector(), v = Vector(), covered = std::int64_t{0}, refreshes = std::int64_t{0}](
               Vector& w, std::int64_t step) mutable {
      m.resize(w.size());
      v.resize(w.size());
      const Seen seen(problem, w, step);
      const Vector g = seen.gradient();
      if (refresh_due(step, n.every, n.dense)) {
        ++refreshes;
        const bool own = n.second == Second::gradient || (n.second == Second::alternating && refreshes % 2 == 0);
        const Vector s = own ? g : seen.imitation();
        const auto spans = static_cast<double>(steps_covered(step, n.every, n.dense));
        const double keep = std::pow(n.b2, spans);
        for (std::size_t i = 0; i < w.size(); ++i) v[i] = keep * v[i] + (1 - keep) / (1 - n.b2) * s[i] * s[i];
        covered += steps_covered(step, n.every, n.dense);
      }
      const double correction = std::sqrt(1 - std::pow(n.b2, static_cast<double>(covered)));
      const double rate = n.a * (1 - n.b1) * correction / std::sqrt(1 - n.b2);
      for (std::size_t i = 0; i < w.size(); ++i) {
        m[i] = n.b1 * m[i] + g[i];
        w[i] = w[i] - n.a * n.wd * w[i] - rate * m[i] / std::sqrt(n.eps + v[i]);
      }
    };
  };
}

TEST(PaperReference, AdamSimplifiedFollowsAlgorithm1) {
  expect_transcribed_path(AdamSimplifiedOptions(0.01).eps(1e-7), algorithm({.second = Second::gradient, .a = 0.01}));
}

TEST(PaperReference, AdamSimplifiedWithOtherNumbersFollowsAlgorithm1) {
  expect_transcribed_path(
      AdamSimplifiedOptions(0.01).betas(0.5, 0.95).eps(0.1).weight_decay(0.2),
      algorithm({.second = Second::gradient, .a = 0.01, .b1 = 0.5, .b2 = 0.95, .eps = 0.1, .wd = 0.2}));
}

TEST(PaperReference, LehiFollowsAlgorithm2) {
  expect_transcribed_path(LehiOptions(0.003).eps(1e-2),
                          algorithm({.second = Second::imitation, .a = 0.003, .eps = 1e-2}));
}

TEST(PaperReference, LehiWithOtherNumbersFollowsAlgorithm2) {
  expect_transcribed_path(
      LehiOptions(0.02).betas(0.5, 0.95).eps(1.0).weight_decay(0.1),
      algorithm({.second = Second::imitation, .a = 0.02, .b1 = 0.5, .b2 = 0.95, .eps = 1.0, .wd = 0.1}));
}

TEST(PaperReference, LehibridAlternatesProbeAndGradient) {
  expect_transcribed_path(LehibridOptions(0.003).eps(1e-2),
                          algorithm({.second = Second::alternating, .a = 0.003, .eps = 1e-2}));
}

TEST(PaperReference, AmortisedLehiCoversTheStepsBetweenRefreshes) {
  expect_transcribed_path(LehiOptions(0.003).betas(0.9, 0.99).eps(1e-2).refresh_every(10),
                          algorithm({.second = Second::imitation, .a = 0.003, .b2 = 0.99, .eps = 1e-2, .every = 10}));
}

TEST(PaperReference, AmortisedLehiBeginsDense) {
  expect_transcribed_path(
      LehiOptions(0.003).betas(0.9, 0.99).eps(1e-2).refresh_every(4, 7),
      algorithm({.second = Second::imitation, .a = 0.003, .b2 = 0.99, .eps = 1e-2, .every = 4, .dense = 7}));
}

TEST(PaperReference, AmortisedLehibridAlternatesByRefresh) {
  expect_transcribed_path(
      LehibridOptions(0.003).betas(0.9, 0.99).eps(1e-2).refresh_every(3, 4),
      algorithm({.second = Second::alternating, .a = 0.003, .b2 = 0.99, .eps = 1e-2, .every = 3, .dense = 4}));
}

TEST(PaperReference, DefaultNumbersAreThePapers) {
  for (const auto kind : {Preset::lehi, Preset::lehibrid, Preset::adam_simplified}) {
    EXPECT_EQ(preset(kind).group.beta1, 0.9);
    EXPECT_EQ(preset(kind).group.beta2, 0.999);
    EXPECT_EQ(preset(kind).group.weight_decay, 0.0);
  }
}

}  // namespace
}  // namespace lehi::testing
