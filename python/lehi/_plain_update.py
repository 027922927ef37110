"""The weight update in torch operations, line by line as in src/lib/kernels/update.h: other devices, half-precision
weights, and where the operator library is missing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

_SCALED, _ROOT_SUM, _CLIPPED, _LINEAR, _QUOTIENT, _SIGN = range(6)
_NOTHING, _GRADIENT, _PROBE, _SUM, _LARGER = range(5)


def _quotient(numerator: Tensor, denominator: Tensor) -> Tensor:
    """A quotient with denominator 0 counts as 0."""
    return numerator.div(denominator).masked_fill_(denominator == 0.0, 0.0)


def _fed(feed: int, g: Tensor, s: Tensor | None, s_factor: float) -> Tensor:
    if feed == _GRADIENT or s is None:
        return g * g
    s = s.to(g.dtype) * s_factor
    if feed == _PROBE:
        return s * s
    if feed == _SUM:
        return s * s + g * g
    return torch.maximum(s * s, g * g)


def _update_one(
    w: Tensor, g: Tensor, s: Tensor | None, m: Tensor | None, v: Tensor | None, v_max: Tensor | None, c: Sequence[float]
) -> None:
    form, feed = int(c[0]), int(c[1])
    g_factor, s_factor, v_decay, v_gain, v_scale, m_decay, m_gain, m_rate, g_rate, w_decay, eps, coupled = c[2:14]
    # Half-precision weights keep float32 state; everything is computed in the state's precision.
    dtype = torch.promote_types(w.dtype, torch.float32)
    weight = w.to(dtype)
    g = g.to(dtype) * g_factor
    if coupled != 0.0:
        g.add_(weight, alpha=coupled)
    kept = v
    if v is not None and form != _SIGN:
        if feed != _NOTHING:
            v.mul_(v_decay).add_(_fed(feed, g, s, s_factor), alpha=v_gain)
        if v_max is not None:
            torch.maximum(v_max, v, out=v_max)
            kept = v_max
    if form == _SIGN:  # before m changes
        direction = g * g_rate if m is None else (m * v_scale).add_(g, alpha=g_rate)
        step = torch.where(direction.isnan(), direction, direction.sign()).mul_(m_rate)
        if m is not None:
            m.mul_(m_decay).add_(g, alpha=m_gain)
    else:
        if m is not None:
            if form == _QUOTIENT and kept is not None:
                m.mul_(m_decay).add_(_quotient(g, kept.sqrt().mul_(v_scale).add_(eps)))
            else:
                m.mul_(m_decay).add_(g, alpha=m_gain)
        step = _step(form, g, m, kept, v_scale, m_rate, g_rate, eps)
    w.copy_(weight * w_decay - step)


def _step(
    form: int, g: Tensor, m: Tensor | None, v: Tensor | None, v_scale: float, m_rate: float, g_rate: float, eps: float
) -> Tensor:
    if form == _LINEAR or v is None:
        step = g * g_rate
        return step if m is None else step.add_(m, alpha=m_rate)
    if form == _SCALED:
        step = g * g_rate if m is None else (m * m_rate).add_(g, alpha=g_rate)
        return _quotient(step, v.sqrt().mul_(v_scale).add_(eps))
    if m is None:
        raise AssertionError(f"form {form} needs m")
    if form == _ROOT_SUM:
        return _quotient(m * m_rate, (v + eps).sqrt_())
    if form == _CLIPPED:
        below = (v * v_scale).add_(eps)
        return m.div(below).masked_fill_((m == 0.0) & (below == 0.0), 0.0).clamp_(-1.0, 1.0).mul_(m_rate)
    return m * m_rate


@torch.no_grad()
def update(
    w: Sequence[Tensor],
    g: Sequence[Tensor],
    s: Sequence[Tensor],
    m: Sequence[Tensor],
    v: Sequence[Tensor],
    v_max: Sequence[Tensor],
    values: Sequence[float],
) -> None:
    """Arguments as those of the operator in OPERATORS.md: s, m, v and v_max are as long as w, or empty."""

    def at(tensors: Sequence[Tensor], i: int) -> Tensor | None:
        return tensors[i] if tensors else None

    for i, weight in enumerate(w):
        _update_one(weight, g[i], at(s, i), at(m, i), at(v, i), at(v_max, i), values)
