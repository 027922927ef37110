#include "kernels/update.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/vector_math.h"

namespace lehi::kernels {
namespace {

// Entries per thread: smaller parameters are not worth starting another thread.
constexpr std::int64_t grain = 1 << 15;

template <class T>
struct Scalars {
  explicit Scalars(const UpdateCoefficients& c)
      : g_factor(static_cast<T>(c.g_factor)),
        s_factor(static_cast<T>(c.s_factor)),
        v_decay(static_cast<T>(c.v_decay)),
        v_gain(static_cast<T>(c.v_gain)),
        v_scale(static_cast<T>(c.v_scale)),
        m_decay(static_cast<T>(c.m_decay)),
        m_gain(static_cast<T>(c.m_gain)),
        m_rate(static_cast<T>(c.m_rate)),
        g_rate(static_cast<T>(c.g_rate)),
        w_decay(static_cast<T>(c.w_decay)),
        eps(static_cast<T>(c.eps)) {}

  T g_factor, s_factor, v_decay, v_gain, v_scale, m_decay, m_gain, m_rate, g_rate, w_decay, eps;
};

template <Feed feed, class T>
LEHI_INLINE T fed_value(const UpdateArrays<T>& a, const Scalars<T>& c, std::int64_t i, T g) {
  if constexpr (feed == Feed::gradient) return g * g;
  const T s = c.s_factor * a.s[i];
  if constexpr (feed == Feed::probe) return s * s;
  if constexpr (feed == Feed::probe_plus_gradient) return s * s + g * g;
  return std::max(s * s, g * g);
}

template <class T>
LEHI_INLINE T quotient(T numerator, T denominator) {
  return denominator == T(0) ? T(0) : numerator / denominator;
}

template <Form form, Feed feed, bool has_m, bool has_max, class T>
LEHI_CLONES void sweep(const UpdateArrays<T>& a, const Scalars<T>& c, std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep  // the arrays do not overlap
  for (std::int64_t i = begin; i < end; ++i) {
    const T g = c.g_factor * a.g[i];
    T v = 0;
    if constexpr (form != Form::sign && (form != Form::linear || feed != Feed::nothing)) {
      v = a.v[i];
      if constexpr (feed != Feed::nothing) {
        v = c.v_decay * v + c.v_gain * fed_value<feed>(a, c, i, g);
        a.v[i] = v;
      }
      if constexpr (has_max) {
        v = std::max(a.v_max[i], v);
        a.v_max[i] = v;
      }
    }
    T m = 0;
    T direction = c.g_rate * g;
    if constexpr (has_m && form == Form::sign) direction += c.v_scale * a.m[i];
    if constexpr (has_m) {
      T in = c.m_gain * g;
      if constexpr (form == Form::quotient) in = quotient(g, c.v_scale * std::sqrt(v) + c.eps);
      m = c.m_decay * a.m[i] + in;
      a.m[i] = m;
    }
    T step = 0;
    if constexpr (form == Form::scaled) step = quotient(c.m_rate * m + c.g_rate * g, c.v_scale * std::sqrt(v) + c.eps);
    if constexpr (form == Form::root_sum) step = quotient(c.m_rate * m, std::sqrt(v + c.eps));
    if constexpr (form == Form::clipped) {
      const T scale = c.v_scale * v + c.eps;
      const T ratio = m == T(0) && scale == T(0) ? T(0) : m / scale;
      step = c.m_rate * (ratio < T(-1) ? T(-1) : (ratio > T(1) ? T(1) : ratio));
    }
    if constexpr (form == Form::linear) step = c.m_rate * m + c.g_rate * g;
    if constexpr (form == Form::quotient) step = c.m_rate * m;
    if constexpr (form == Form::sign) {
      const T sign = T(direction > T(0)) - T(direction < T(0));
      step = c.m_rate * (std::isnan(direction) ? direction : sign);
    }
    a.w[i] = c.w_decay * a.w[i] - step;
  }
}

template <class T>
using Sweep = void (*)(const UpdateArrays<T>&, const Scalars<T>&, std::int64_t, std::int64_t);

template <class T, Form form, Feed feed>
Sweep<T> pick_state(bool has_m, bool has_max) {
  if (has_m) return has_max ? sweep<form, feed, true, true, T> : sweep<form, feed, true, false, T>;
  return has_max ? sweep<form, feed, false, true, T> : sweep<form, feed, false, false, T>;
}

template <class T, Form form>
Sweep<T> pick_feed(Feed feed, bool has_m, bool has_max) {
  switch (feed) {
    case Feed::nothing:
      return pick_state<T, form, Feed::nothing>(has_m, has_max);
    case Feed::gradient:
      return pick_state<T, form, Feed::gradient>(has_m, has_max);
    case Feed::probe:
      return pick_state<T, form, Feed::probe>(has_m, has_max);
    case Feed::probe_plus_gradient:
      return pick_state<T, form, Feed::probe_plus_gradient>(has_m, has_max);
    case Feed::larger:
      return pick_state<T, form, Feed::larger>(has_m, has_max);
  }
  throw std::logic_error("kernels::update: unknown feed");
}

template <class T>
Sweep<T> pick(Form form, Feed feed, bool has_m, bool has_max) {
  switch (form) {
    case Form::scaled:
      return pick_feed<T, Form::scaled>(feed, has_m, has_max);
    case Form::root_sum:
      return pick_feed<T, Form::root_sum>(feed, has_m, has_max);
    case Form::clipped:
      return pick_feed<T, Form::clipped>(feed, has_m, has_max);
    case Form::linear:
      return pick_feed<T, Form::linear>(feed, has_m, has_max);
    case Form::quotient:
      return pick_feed<T, Form::quotient>(feed, has_m, has_max);
    case Form::sign:
      return pick_state<T, Form::sign, Feed::nothing>(has_m, has_max);
  }
  throw std::logic_error("kernels::update: unknown form");
}

template <class T>
void update_all(const UpdateArrays<T>& arrays, const UpdateCoefficients& c, const ParallelFor& parallel) {
  const Scalars<T> scalars(c);
  const Sweep<T> run = pick<T>(c.form, c.feed, arrays.m != nullptr, arrays.v_max != nullptr);
  parallel(arrays.size, grain, [&](std::int64_t begin, std::int64_t end) { run(arrays, scalars, begin, end); });
}

}  // namespace

void update(const UpdateArrays<float>& arrays, const UpdateCoefficients& coefficients, const ParallelFor& parallel) {
  update_all(arrays, coefficients, parallel);
}

void update(const UpdateArrays<double>& arrays, const UpdateCoefficients& coefficients, const ParallelFor& parallel) {
  update_all(arrays, coefficients, parallel);
}

}  // namespace lehi::kernels
