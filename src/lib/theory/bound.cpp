#include "lehi/bound.h"

#include <cmath>

#include "runtime/message.h"

namespace lehi {
namespace {

void check(const BoundConstants& c) {
  // The comparisons are written so that NaN fails them; infinity is rejected at the end.
  if (!(c.lr > 0)) throw_invalid_argument("convergence bound: the learning rate must be above 0, not {}", c.lr);
  if (!(c.beta2 > 0 && c.beta2 < 1))
    throw_invalid_argument("convergence bound: beta2 must be between 0 and 1, not {}", c.beta2);
  if (!(c.beta1 >= 0 && c.beta1 < c.beta2)) {
    throw_invalid_argument("convergence bound: beta1 must be at least 0 and below beta2 = {}, not {}", c.beta2,
                           c.beta1);
  }
  if (!(c.eps > 0)) throw_invalid_argument("convergence bound: eps must be above 0, not {}", c.eps);
  if (!(c.dimension >= 1))
    throw_invalid_argument("convergence bound: the dimension must be at least 1, not {}", c.dimension);
  if (!(c.gradient_bound > std::sqrt(c.eps))) {
    throw_invalid_argument(
        "convergence bound: the gradient bound M must be above sqrt(eps) = {}, not {}, since |g| <= sqrt(M^2 - eps)",
        std::sqrt(c.eps), c.gradient_bound);
  }
  if (!(c.lipschitz > 0))
    throw_invalid_argument("convergence bound: the Lipschitz constant must be above 0, not {}", c.lipschitz);
  if (!(c.initial_gap >= 0))
    throw_invalid_argument("convergence bound: the initial gap must be at least 0, not {}", c.initial_gap);
  if (!(static_cast<double>(c.steps) > 1 / (1 - c.beta1))) {
    throw_invalid_argument("convergence bound: it needs more than 1/(1 - beta1) = {} steps, not {}", 1 / (1 - c.beta1),
                           c.steps);
  }
  for (const double value : {c.lr, c.eps, c.dimension, c.gradient_bound, c.lipschitz, c.initial_gap}) {
    if (std::isinf(value)) throw_invalid_argument("convergence bound: every constant must be finite");
  }
}

}  // namespace

Bound convergence_bound(const BoundConstants& constants) {
  check(constants);
  const auto& [a, b1, b2, eps, d, m, l, gap, steps] = constants;
  const auto k = static_cast<double>(steps);
  const double k_tilde = k - b1 / (1 - b1);
  const double q = 1 - b1 / b2;
  const double e = a * d * m * l * (1 - b1) / (q * (1 - b2)) +
                   12 * d * m * m * std::sqrt(1 - b1) / (std::pow(q, 1.5) * std::sqrt(1 - b2)) +
                   2 * a * a * d * l * l * b1 / (q * std::pow(1 - b2, 1.5));
  Bound bound;
  bound.gap_term = 2 * m / (a * k_tilde) * gap;
  bound.log_term = e / k_tilde * std::log1p(m * m / ((1 - b2) * eps));
  bound.drift_term = -e * (k / k_tilde) * std::log(b2);
  bound.value = bound.gap_term + bound.log_term + bound.drift_term;
  bound.trivial = d * m * m;
  bound.vacuous = bound.value >= bound.trivial;
  return bound;
}

double iterate_average(const std::vector<double>& squared_gradient_norms, double beta1) {
  if (squared_gradient_norms.empty())
    throw_invalid_argument("iterate_average: it needs the gradient norm of at least one step");
  if (!(beta1 >= 0 && beta1 < 1))
    throw_invalid_argument("iterate_average: beta1 must be at least 0 and below 1, not {}", beta1);
  double sum = 0.0;
  double total = 0.0;
  double power = 1.0;  // b1^(K-k+1), from the last step back
  for (std::size_t k = squared_gradient_norms.size(); k-- > 0;) {
    power *= beta1;
    sum += (1 - power) * squared_gradient_norms[k];
    total += 1 - power;
  }
  return sum / total;
}

const char* bound_caveat() {
  return "The bound is proven for s = g only (adam-simplified): the published proof uses a lemma that needs m and v "
         "built from the same sequence, and for LEHI, whose v comes from a probe, a run that meets every assumption "
         "exceeds it (docs/evidence/theory.md).";
}

}  // namespace lehi
