// The weight update, one sweep over memory for every rule. A rule (src/lib/optim/coefficients.cpp) becomes a form and a
// few scalars; this file knows nothing of learning rates or bias corrections.
//
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
//   linear      m_rate m + g_rate g                                 sgd, and radam's first steps (v is fed all the
//   same) quotient    m <- m_decay m + g / (v_scale sqrt(V) + eps); m_rate m      rmsprop with momentum
//
// A quotient whose denominator is 0 counts as 0 (eps = 0, and a v that is 0 or too small to be told from it: without a
// scale a weight keeps still); clipped, it is m's sign.
#pragma once

#include <torch/types.h>

#include <cstdint>

namespace lehi::kernels {

enum class Form : std::uint8_t { scaled, root_sum, clipped, linear, quotient };
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

/// One parameter and its state. s is read only by a feed that names the probe; m, v and v_max may be undefined where
/// the form does not use them. w, m, v and v_max are changed in place; g and s never are.
struct UpdateTensors {
  torch::Tensor w;
  torch::Tensor g;
  torch::Tensor s;
  torch::Tensor m;
  torch::Tensor v;
  torch::Tensor v_max;
};

/// The fused sweep where it applies (dense CPU tensors of one memory order and one dtype, float32 or float64), else
/// update_plain.
void update(const UpdateTensors& tensors, const UpdateCoefficients& coefficients);

/// The same in ATen operations: the reference, and the path of every other device, layout and dtype. State is computed
/// in the dtype of m and v (at least float32) and rounded to w's at the end.
void update_plain(const UpdateTensors& tensors, const UpdateCoefficients& coefficients);

/// True when update() takes the fused sweep.
bool can_fuse(const UpdateTensors& tensors);

}  // namespace lehi::kernels
