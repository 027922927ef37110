// The weight update, one sweep over memory for every rule. A rule (coefficients.h) becomes a form and a few scalars;
// this file does not depend on learning rates or bias corrections.
//
// clang-format off
//   g  <- g_factor g
//   f  =  g^2, (s_factor s)^2, or a mix of the two                  Feed
//   v  <- v_decay v + v_gain f;   v_max <- max(v_max, v)            unless Feed::nothing
//   m  <- m_decay m + m_gain g                                      if there is an m
//   w  <- w_decay w - step
//
// where V is v_max if it is kept, else v, and step is by Form:
//
//   scaled      (m_rate m + g_rate g) / (v_scale sqrt(V) + eps)     adam, nadam, radam, rmsprop
//   root_sum    m_rate m / sqrt(V + eps)                            adam-simplified
//   clipped     m_rate clamp(m / (v_scale V + eps), -1, 1)          sophia
//   linear      m_rate m + g_rate g                                 sgd, and radam's first steps (v is fed all the same)
//   sign        m_rate sign(v_scale m + g_rate g), with the m before its own update                      lion
//   quotient    m_rate m, with m <- m_decay m + g / (v_scale sqrt(V) + eps)         rmsprop with momentum
// clang-format on
//
// A quotient with denominator 0 counts as 0 (eps = 0, and a v that is 0 or underflowed: such a weight does not change).
// In the clipped form m / 0 is the sign of m.
#pragma once

#include <cstdint>

#include "kernels/parallel.h"

namespace lehi::kernels {

enum class Form : std::uint8_t { scaled, root_sum, clipped, linear, quotient, sign };
enum class Feed : std::uint8_t { nothing, gradient, probe, probe_plus_gradient, larger };

struct UpdateCoefficients {
  Form form = Form::scaled;
  Feed feed = Feed::nothing;
  double g_factor = 1.0;
  double s_factor = 1.0;
  double v_decay = 1.0;
  double v_gain = 1.0;
  double v_scale = 1.0;
  double m_decay = 0.0;
  double m_gain = 1.0;
  double m_rate = 0.0;
  double g_rate = 0.0;
  double w_decay = 1.0;
  double eps = 0.0;
};

/// One parameter and its state, each with `size` entries in one memory order. s is read only by a feed that uses the
/// probe; m, v and v_max may be null where the form does not use them. w, m, v and v_max are changed in place.
template <class T>
struct UpdateArrays {
  T* w = nullptr;
  const T* g = nullptr;
  const T* s = nullptr;
  T* m = nullptr;
  T* v = nullptr;
  T* v_max = nullptr;
  std::int64_t size = 0;
};

/// The equations above, computed in the arrays' precision.
void update(const UpdateArrays<float>& arrays, const UpdateCoefficients& coefficients,
            const ParallelFor& parallel = {});
void update(const UpdateArrays<double>& arrays, const UpdateCoefficients& coefficients,
            const ParallelFor& parallel = {});

}  // namespace lehi::kernels
