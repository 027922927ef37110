// The update in ATen operations, line by line as in kernels/update.h.
#include <c10/util/Exception.h>

#include "ops/update.h"

namespace lehi::ops {
namespace {

using kernels::Feed;
using kernels::Form;
using kernels::UpdateCoefficients;
using torch::Tensor;

Tensor fed_value(const UpdateTensors& t, const UpdateCoefficients& c, const Tensor& g) {
  if (c.feed == Feed::gradient) return g * g;
  const Tensor s = t.s.to(g.scalar_type()) * c.s_factor;
  if (c.feed == Feed::probe) return s * s;
  if (c.feed == Feed::probe_plus_gradient) return s * s + g * g;
  return torch::max(s * s, g * g);
}

Tensor quotient(const Tensor& numerator, const Tensor& denominator) {
  return (numerator / denominator).masked_fill(denominator == 0.0, 0.0);
}

Tensor step_of(const UpdateCoefficients& c, const Tensor& g, const Tensor& m, const Tensor& v) {
  switch (c.form) {
    case Form::scaled: {
      Tensor numerator = c.g_rate * g;
      if (m.defined()) numerator = c.m_rate * m + numerator;
      return quotient(numerator, c.v_scale * v.sqrt() + c.eps);
    }
    case Form::root_sum:
      return quotient(c.m_rate * m, (v + c.eps).sqrt());
    case Form::clipped:
      return c.m_rate * (m / (c.v_scale * v + c.eps))
                            .masked_fill((m == 0.0) & (c.v_scale * v + c.eps == 0.0), 0.0)
                            .clamp(-1.0, 1.0);
    case Form::linear:
      return m.defined() ? c.m_rate * m + c.g_rate * g : c.g_rate * g;
    case Form::quotient:
      return c.m_rate * m;
    case Form::sign: {
      const Tensor direction = m.defined() ? c.v_scale * m + c.g_rate * g : c.g_rate * g;
      return c.m_rate * torch::where(direction.isnan(), direction, direction.sign());  // sign(NaN) is 0
    }
  }
  TORCH_INTERNAL_ASSERT(false, "unknown form");
}

}  // namespace

void update_plain(const UpdateTensors& t, const UpdateCoefficients& c, const WeightRounding& rounding) {
  const torch::NoGradGuard no_grad;
  // Half-precision weights keep float32 state; everything is computed in the state's precision.
  const auto dtype = torch::promote_types(t.w.scalar_type(), torch::kFloat32);
  const Tensor g = t.g.to(dtype) * c.g_factor;
  Tensor v = t.v;
  if (c.form != Form::sign && (c.form != Form::linear || c.feed != Feed::nothing)) {
    if (c.feed != Feed::nothing) t.v.mul_(c.v_decay).add_(fed_value(t, c, g), c.v_gain);
    if (t.v_max.defined()) {
      t.v_max.copy_(torch::max(t.v_max, t.v));
      v = t.v_max;
    }
  }
  const Tensor direction = c.form == Form::sign ? step_of(c, g, t.m, v) : Tensor();  // before m changes
  if (t.m.defined()) {
    const Tensor in = c.form == Form::quotient ? quotient(g, c.v_scale * v.sqrt() + c.eps) : c.m_gain * g;
    t.m.mul_(c.m_decay).add_(in);
  }
  store_rounded(t.w, t.w.to(dtype) * c.w_decay - (direction.defined() ? direction : step_of(c, g, t.m, v)), rounding);
}

}  // namespace lehi::ops
