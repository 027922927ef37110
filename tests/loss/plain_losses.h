// Reference implementations of the losses, one number at a time in long double (64 bits of mantissa, exponents to
// 10^4932): value, u, second derivatives and probes from the definitions in lehi/losses.h and lehi/cross_entropy.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "lehi/probe.h"

namespace lehi::testing {

using Real = long double;

/// The sizes are sums of absolute values of the terms of slope and second derivative: rounding errors are relative to
/// them.
struct PlainPoint {
  Real value;
  Real slope;
  Real second;
  Real slope_size = 0;
  Real second_size = 0;
};

using PlainLoss = std::function<PlainPoint(Real p, Real y)>;

/// 1 / (1 + exp(-x)), without cancellation.
inline Real plain_sigmoid(Real x) {
  const Real e = std::exp(-std::abs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
/// log(1 + exp(x))
inline Real plain_softplus(Real x) { return std::max<Real>(x, 0) + std::log1p(std::exp(-std::abs(x))); }

inline PlainPoint plain_squared_error(Real p, Real y) { return {(p - y) * (p - y) / 2, p - y, 1}; }

inline PlainPoint plain_logistic(Real p, Real y) {
  return {y * plain_softplus(-p) + (1 - y) * plain_softplus(p), (1 - y) * plain_sigmoid(p) - y * plain_sigmoid(-p),
          plain_sigmoid(p) * plain_sigmoid(-p), 1};
}

inline PlainPoint plain_huber(Real p, Real y, Real delta) {
  const Real e = p - y;
  if (std::abs(e) <= delta) return {e * e / 2, e, 1};
  return {delta * (std::abs(e) - delta / 2), e < 0 ? -delta : delta, 0};
}

inline PlainPoint plain_log_cosh(Real p, Real y) {
  const Real e = p - y;
  const Real root = 4 * plain_sigmoid(2 * e) * plain_sigmoid(-2 * e);  // 1 / cosh^2
  // Near 0 by the series: softplus would cancel.
  const Real value = std::abs(e) < 1e-3L ? e * e / 2 - e * e * e * e / 12 + e * e * e * e * e * e / 45
                                         : std::abs(e) + std::log1p(std::exp(-2 * std::abs(e))) - std::log(Real(2));
  return {value, std::tanh(e), root};
}

inline PlainPoint plain_poisson(Real p, Real y) {
  return {std::exp(p) - y * p, std::exp(p) - y, std::exp(p), std::exp(p) + y};
}

inline PlainPoint plain_squared_hinge(Real p, Real y) {
  const Real margin = std::max<Real>(0, 1 - y * p);
  return {margin * margin, -2 * y * margin, y * p < 1 ? Real(2) : Real(0)};
}

/// By the product rule, of a (1-q)^gamma and -log q each.
inline PlainPoint plain_focal(Real p, Real y, Real gamma, Real alpha) {
  const Real t = y == 1 ? p : -p;
  const Real a = y == 1 ? alpha : 1 - alpha;
  const Real q = plain_sigmoid(t);
  const Real other = plain_sigmoid(-t);
  const Real f = a * std::exp(-gamma * plain_softplus(t));  // a (1-q)^gamma
  const Real f1 = -gamma * q * f;
  const Real f2 = -gamma * (q * other * f + q * f1);
  const Real l = plain_softplus(-t);
  const Real slope = f1 * l - f * other;
  const Real size = std::abs(f2 * l) + std::abs(2 * f1 * other) + f * q * other;
  return {f * l, y == 1 ? slope : -slope, f2 * l - 2 * f1 * other + f * q * other, std::abs(slope), size};
}

/// One row of cross-entropy: a_i = weighted targets.
struct PlainRow {
  Real loss = 0;
  std::vector<Real> u;
  std::vector<Real> second;  // c s (1 - s)
  std::vector<Real> s;
  std::vector<Real> others;  // 1 - s
  Real c = 0;
};

inline PlainRow plain_cross_entropy(const std::vector<Real>& p, const std::vector<Real>& a) {
  const std::size_t n = p.size();
  const auto top = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  std::vector<Real> e(n);
  Real rest = 0;
  PlainRow row;
  for (std::size_t i = 0; i < n; ++i) {
    e[i] = std::exp(p[i] - p[top]);
    if (i != top) rest += e[i];
    row.c += a[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    Real without = 0;
    for (std::size_t k = 0; k < n; ++k) without += k == i ? 0 : e[k];
    row.s.push_back(e[i] / (1 + rest));
    row.others.push_back(without / (1 + rest));
    Real c_without = 0;
    for (std::size_t k = 0; k < n; ++k) c_without += k == i ? 0 : a[k];
    row.u.push_back(row.s[i] > 0.5L ? c_without - row.c * row.others[i] : row.c * row.s[i] - a[i]);
    row.second.push_back(row.c * row.s[i] * row.others[i]);
    if (a[i] != 0) row.loss += a[i] * (p[top] - p[i]);
  }
  row.loss += row.c * std::log1p(rest);
  return row;
}

/// v of the probes that need no more than signs; factor: sqrt(c) or c.
inline std::vector<Real> plain_probe(const PlainRow& row, Probe probe, Real factor, const std::vector<double>& signs) {
  const std::size_t n = row.s.size();
  std::vector<Real> v(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const Real diagonal = std::sqrt(row.s[i] * row.others[i]);
    if (probe == Probe::diagonal) v[i] = diagonal;
    if (probe == Probe::imitation) {
      v[i] = diagonal;
      for (std::size_t k = 0; k < n; ++k) {
        if (k != i && row.s[k] > 0 && row.s[i] > 0) v[i] -= std::sqrt(row.s[k] / row.others[k]) * row.s[i];
      }
    }
    if (probe == Probe::gauss_newton) {
      Real others = 0;
      for (std::size_t k = 0; k < n; ++k) others += k == i ? 0 : std::sqrt(row.s[k]) * signs[k];
      v[i] = std::sqrt(row.s[i]) * signs[i] * row.others[i] - row.s[i] * others;
    }
    v[i] *= factor;
  }
  return v;
}

}  // namespace lehi::testing
