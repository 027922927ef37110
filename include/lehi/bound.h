// The convergence bound of the LEHI paper (Theorem 3.2), evaluated for given constants.
//
// Caveat: the published proof uses a lemma that needs m and v built from the same sequence. LEHI builds v from the
// probe s, not from g, so the bound is proven for s = g (adam-simplified) only; for LEHI there is a counterexample
// (docs/evidence/theory.md, and a test). The bound is vacuous where it is at least d M^2, which ||grad f||^2 can't
// exceed.
//
// With ||g||_inf, ||s||_inf <= sqrt(M^2 - eps), an L-Lipschitz gradient, K > 1/(1-b1) steps, K~ = K - b1/(1-b1) and R
// drawn from 1..K with probability proportional to 1 - b1^(K-k+1):
//
//   E |grad f(w_R)|^2 <= 2M/(a K~) (f(w_1) - f_inf) + E (log(1 + M^2/((1-b2) eps)) / K~ - (K/K~) log b2)
//   E = a d M L (1-b1) / ((1-b1/b2)(1-b2)) + 12 d M^2 sqrt(1-b1) / ((1-b1/b2)^(3/2) sqrt(1-b2))
//       + 2 a^2 d L^2 b1 / ((1-b1/b2)(1-b2)^(3/2))
#pragma once

#include <cstdint>
#include <vector>

namespace lehi {

struct BoundConstants {
  double lr = 1e-3;             ///< a > 0
  double beta1 = 0.9;           ///< [0, beta2)
  double beta2 = 0.999;         ///< (beta1, 1)
  double eps = 1e-7;            ///< > 0
  double dimension = 1;         ///< d >= 1
  double gradient_bound = 1.0;  ///< M > sqrt(eps)
  double lipschitz = 1.0;       ///< L > 0
  double initial_gap = 1.0;     ///< f(w_1) - f_inf >= 0
  std::int64_t steps = 1000;    ///< K > 1/(1-b1)
};

struct Bound {
  double value = 0.0;       ///< the right-hand side
  double gap_term = 0.0;    ///< 2M/(a K~) (f(w_1) - f_inf)
  double log_term = 0.0;    ///< E log(1 + M^2/((1-b2) eps)) / K~
  double drift_term = 0.0;  ///< -E (K/K~) log b2: does not vanish for large K
  double trivial = 0.0;     ///< the trivial bound, d M^2
  bool vacuous = false;     ///< value >= trivial
};

/// Throws std::invalid_argument that names the constant out of range.
Bound convergence_bound(const BoundConstants& constants);

/// The weighted mean that the bound limits: sum_k (1 - b1^(K-k+1)) x_k / sum_k (1 - b1^(K-k+1)).
double iterate_average(const std::vector<double>& squared_gradient_norms, double beta1);

/// The caveat above as a sentence, to print wherever the bound is printed.
const char* bound_caveat();

}  // namespace lehi
