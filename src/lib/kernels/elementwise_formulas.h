// The scalar formulas of the elementwise losses; the table is in lehi/losses.h.
//
// Each struct has
//   at(p, y)       {l, dl/dp}
//   second(p, y)   l''
//   root(p, y)     sqrt(|l''|), computed so that it does not underflow where l'' does
//   accepts(y)     whether y is a valid target; `expected` describes valid targets in messages
//   convex         whether l'' >= 0 everywhere
//   has_labels     whether the loss is a negative log likelihood; then
//   sampled(...)   dl/dp at a label drawn from the model
// No intermediate result overflows unless the result does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>
#include <variant>

#include "kernels/draws.h"

namespace lehi::kernels {

struct Point {
  double value;
  double slope;
};

struct SquaredError {
  static constexpr bool convex = true;
  static constexpr bool has_labels = true;
  static constexpr std::string_view expected = "a finite number";
  static bool accepts(double y) { return std::isfinite(y); }
  static Point at(double p, double y) { return {0.5 * (p - y) * (p - y), p - y}; }
  static double second(double, double) { return 1.0; }
  static double root(double, double) { return 1.0; }
  /// p - y with y normally distributed around p.
  static double sampled(double, const Draws& draws, std::int64_t row, std::int64_t output) {
    return -draws.normal(row, output);
  }
};

struct Logistic {
  static constexpr bool convex = true;
  static constexpr bool has_labels = true;
  static constexpr std::string_view expected = "a number from 0 to 1";
  static bool accepts(double y) { return y >= 0.0 && y <= 1.0; }
  static Point at(double p, double y) {
    const double e = std::exp(-std::abs(p));
    const double smaller = e / (1.0 + e);  // min(sigma, 1 - sigma)
    if (p >= 0.0) return {p * (1.0 - y) + std::log1p(e), (1.0 - y) - smaller};
    return {-p * y + std::log1p(e), smaller - y};
  }
  static double root(double p, double) {
    const double half = std::exp(-0.5 * std::abs(p));
    return half / (1.0 + half * half);
  }
  static double second(double p, double y) { return root(p, y) * root(p, y); }
  static double sampled(double p, const Draws& draws, std::int64_t row, std::int64_t output) {
    const double label = draws.uniform(row, output) < at(p, 0.0).slope ? 1.0 : 0.0;
    return at(p, label).slope;
  }
};

struct HuberFormula {
  double delta;
  static constexpr bool convex = true;
  static constexpr bool has_labels = false;
  static constexpr std::string_view expected = "a finite number";
  static bool accepts(double y) { return std::isfinite(y); }
  Point at(double p, double y) const {
    const double e = p - y;
    if (std::abs(e) <= delta) return {0.5 * e * e, e};
    return {delta * (std::abs(e) - 0.5 * delta), std::copysign(delta, e)};
  }
  double second(double p, double y) const { return std::abs(p - y) <= delta ? 1.0 : 0.0; }
  double root(double p, double y) const { return second(p, y); }
};

struct LogCoshFormula {
  static constexpr bool convex = true;
  static constexpr bool has_labels = false;
  static constexpr std::string_view expected = "a finite number";
  static bool accepts(double y) { return std::isfinite(y); }
  static Point at(double p, double y) {
    const double e = std::abs(p - y);
    const double sinh = std::sinh(std::min(e, 1.0));
    // The first form is precise near zero, the second does not overflow.
    const double value =
        e < 1.0 ? 0.5 * std::log1p(sinh * sinh) : e + std::log1p(std::exp(-2.0 * e)) - std::numbers::ln2;
    return {value, std::tanh(p - y)};
  }
  static double root(double p, double y) {
    const double e = std::exp(-std::abs(p - y));
    return 2.0 * e / (1.0 + e * e);
  }
  static double second(double p, double y) { return root(p, y) * root(p, y); }
};

struct PoissonFormula {
  static constexpr bool convex = true;
  static constexpr bool has_labels = true;
  static constexpr std::string_view expected = "a finite number that is not negative";
  static bool accepts(double y) { return y >= 0.0 && std::isfinite(y); }
  static Point at(double p, double y) { return {std::exp(p) - y * p, std::exp(p) - y}; }
  static double second(double p, double) { return std::exp(p); }
  static double root(double p, double) { return std::exp(0.5 * p); }
  static double sampled(double p, const Draws& draws, std::int64_t row, std::int64_t output) {
    return -draws.centred_poisson(row, output, std::exp(p));
  }
};

struct SquaredHingeFormula {
  static constexpr bool convex = true;
  static constexpr bool has_labels = false;
  static constexpr std::string_view expected = "-1 or 1";
  static bool accepts(double y) { return y == 1.0 || y == -1.0; }
  static Point at(double p, double y) {
    const double margin = std::max(0.0, 1.0 - y * p);
    return {margin * margin, -2.0 * y * margin};
  }
  static double second(double p, double y) { return y * p < 1.0 ? 2.0 : 0.0; }
  static double root(double p, double y) { return y * p < 1.0 ? std::numbers::sqrt2 : 0.0; }
};

/// With t = p for target 1 and -p for target 0, q = sigma(t) and L = -log q:
///   l = a (1-q)^gamma L,  dl/dt = -a (1-q)^gamma (gamma q L + 1 - q),
///   d2l/dt2 = a (1-q)^gamma q (gamma^2 q L + (1-q) (2 gamma + 1 - gamma L)).
struct FocalFormula {
  double gamma;
  double alpha;
  static constexpr bool convex = false;
  static constexpr bool has_labels = false;
  static constexpr std::string_view expected = "0 or 1";
  static bool accepts(double y) { return y == 0.0 || y == 1.0; }
  Point at(double p, double y) const {
    const Parts x = parts(p, y);
    const double slope = -x.factor * (gamma * x.q * x.loss + x.other);
    return {x.factor * x.loss, y == 1.0 ? slope : -slope};
  }
  double second(double p, double y) const {
    const Parts x = parts(p, y);
    return x.factor * x.q * (gamma * gamma * x.q * x.loss + x.other * (2.0 * gamma + 1.0 - gamma * x.loss));
  }
  double root(double p, double y) const {
    const Parts x = parts(p, y);
    const bool right = (y == 1.0) == (p >= 0.0) || p == 0.0;  // t >= 0
    const double e = std::exp(-std::abs(p));
    const double slope = 2.0 * gamma + 1.0 - gamma * x.loss;
    // d2l/dt2 divided by (1-q)^gamma and e, whose roots are computed separately: they could underflow. L / e -> 1.
    const double ratio = e > 0.0 ? x.loss / e : 1.0;
    const double rest = right ? x.q * (gamma * gamma * x.q * ratio + slope / (1.0 + e))
                              : (gamma * gamma * x.q * x.loss + x.other * slope) / (1.0 + e);
    return std::exp(-0.5 * (std::abs(p) + gamma * x.minus_log_other)) * std::sqrt(x.weight * std::abs(rest));
  }

 private:
  struct Parts {
    double q;                // sigma(t)
    double other;            // 1 - q
    double loss;             // -log q
    double factor;           // a (1-q)^gamma
    double weight;           // a
    double minus_log_other;  // -log(1-q)
  };
  Parts parts(double p, double y) const {
    const double t = y == 1.0 ? p : -p;
    const double e = std::exp(-std::abs(t));
    const double larger = 1.0 / (1.0 + e);
    const double smaller = e / (1.0 + e);
    const double log_sum = std::log1p(e);
    const double minus_log_other = std::max(t, 0.0) + log_sum;
    const double weight = y == 1.0 ? alpha : 1.0 - alpha;
    return {t >= 0.0 ? larger : smaller,
            t >= 0.0 ? smaller : larger,
            std::max(-t, 0.0) + log_sum,
            weight * std::exp(-gamma * minus_log_other),
            weight,
            minus_log_other};
  }
};

struct ElementwiseFormula {
  std::variant<SquaredError, Logistic, HuberFormula, LogCoshFormula, PoissonFormula, SquaredHingeFormula, FocalFormula>
      formula;
};

}  // namespace lehi::kernels
