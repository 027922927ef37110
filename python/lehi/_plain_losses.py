"""Value, u and v of the losses in torch operations: other devices, and where the operator library is missing.

The functions have the arguments and results of the operators in OPERATORS.md: `[sums, u]` or `[sums, u, v]`, where
sums is float64 [sum of the losses, count], and u and v belong to the sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lehi import _draws


def _work_dtype(tensor: Tensor) -> torch.dtype:
    return torch.float32 if tensor.device.type == "mps" else torch.float64


def _result(sums: Tensor, predictions: Tensor, *vectors: Tensor) -> list[Tensor]:
    """NaN throughout where a prediction is not finite, without reading a number back from the device."""
    spoiled = ~torch.isfinite(predictions).all()
    parts = [v.to(predictions.dtype).reshape(predictions.shape).contiguous() for v in vectors]
    return [part.masked_fill(spoiled, math.nan) for part in (sums, *parts)]


@dataclass
class _Softmax:
    """In the notation of src/lib/kernels/cross_entropy.h. f and the masks are [rows, classes], the rest [rows, 1]."""

    top: Tensor
    second: Tensor
    m: Tensor
    gap: Tensor
    g: Tensor
    root_g: Tensor
    rest: Tensor
    b: Tensor
    z: Tensor
    f: Tensor


def _sum(x: Tensor) -> Tensor:
    return x.sum(-1, keepdim=True)


def _softmax(p: Tensor) -> _Softmax:
    values, by_size = p.topk(min(2, p.shape[1]), -1)
    number = torch.arange(p.shape[1], device=p.device)
    top = number == by_size[:, :1]
    m = values[:, :1]
    if p.shape[1] == 1:
        zero = torch.zeros_like(p)
        return _Softmax(top, torch.zeros_like(top), m, zero, zero, zero, zero, zero, torch.ones_like(p), zero)
    second = number == by_size[:, 1:2]
    p2 = values[:, 1:2]
    f = torch.exp((p - p2).clamp_max(0.0)).masked_fill(top, 0.0)
    gap = p2 - m
    g = torch.exp(gap)
    rest = _sum(f.masked_fill(second, 0.0))
    b = 1.0 + rest
    return _Softmax(top, second, m, gap, g, torch.exp(0.5 * gap), rest, b, 1.0 + g * b, f)


def _imitation(s: _Softmax) -> Tensor:
    if s.f.shape[1] == 1:
        return torch.zeros_like(s.f)
    f = s.f.masked_fill(s.second, 0.0)
    root_b = s.b.sqrt()
    r2 = (s.z - s.g).rsqrt()
    b2 = r2 * (s.z - s.g)
    top_and_second = s.rest * r2 * -torch.expm1(s.gap) / (s.z * root_b * (b2 + root_b))
    third = f.amax(-1, keepdim=True)
    t = torch.where(third > 0.0, (third * (s.z - s.g * third)).rsqrt(), torch.zeros_like(third))
    x = s.z - s.g * f
    r = (f / x).sqrt()
    b = r * x
    d = r - t * f
    with_top = r * (1.0 + (s.rest - f)) * (1.0 - s.g * f) / (s.z * root_b * (b + root_b))
    with_second = r * r2 * (1.0 - f) * (1.0 + s.g * (s.rest - f)) / (s.z * (b + b2))
    others = with_top + s.g * (with_second + (s.rest * d - _sum(d) * f) / s.z)
    v = torch.where(s.top, -(top_and_second + _sum(with_top)), others)
    return s.root_g * torch.where(s.second, top_and_second - s.g * _sum(with_second), v)


def _diagonal(s: _Softmax) -> Tensor:
    return s.root_g * torch.where(s.top, s.b.sqrt(), (s.f * (s.z - s.g * s.f)).sqrt()) / s.z


def _gauss_newton(s: _Softmax, key: Sequence[int]) -> Tensor:
    signs = _draws.signs(s.f.shape[0], s.f.shape[1], key).to(s.f)
    h = s.root_g * s.f.sqrt() * signs
    mix = _sum(h)
    sign = _sum(signs.masked_fill(~s.top, 0.0))
    others = h - s.g * s.f / s.z * (sign + mix)
    return torch.where(s.top, (sign * s.g * s.b - mix) / s.z, others) / s.z.sqrt()


def _sampled_label(s: _Softmax, key: Sequence[int]) -> Tensor:
    uniform = _draws.draws("uniform", s.f.shape[0], 1, key).to(s.f)
    exponentials = torch.where(s.top, torch.ones_like(s.f), s.g * s.f)
    passed = exponentials.cumsum(-1) <= uniform * s.z
    drawn = _sum(passed.to(torch.int64)).clamp_max(s.f.shape[1] - 1)
    label = torch.arange(s.f.shape[1], device=s.f.device) == drawn
    others = exponentials / s.z - (label & ~s.top).to(s.f.dtype)
    return torch.where(s.top & label, -s.g * s.b / s.z, others)


def _weighted_targets(p: Tensor, target: Tensor, weight: Tensor | None, smoothing: float, ignore: int) -> Tensor:
    weights = torch.ones(p.shape[1], dtype=p.dtype, device=p.device) if weight is None else weight.to(p)
    even = smoothing / p.shape[1]
    kept = 1.0 - smoothing
    if target.is_floating_point():
        return weights * (kept * target.to(p.dtype) + even)
    ignored = (target == ignore).unsqueeze(-1)
    index = target.unsqueeze(-1).masked_fill(ignored, 0)
    one_hot = torch.zeros_like(p).scatter_(-1, index, 1.0)
    return (weights * (kept * one_hot + even)).masked_fill(ignored, 0.0)


def cross_entropy(
    logits: Tensor,
    target: Tensor,
    weight: Tensor | None,
    label_smoothing: float,
    ignore_index: int,
    probe: str,
    scale: str,
    key: Sequence[int],
) -> list[Tensor]:
    classes = logits.shape[-1]
    p = logits.reshape(-1, classes).to(_work_dtype(logits))
    by_index = not target.is_floating_point()
    flat = target.reshape(-1) if by_index else target.reshape(-1, classes)
    s = _softmax(p)
    a = _weighted_targets(p, flat, weight, label_smoothing, ignore_index)
    c = _sum(a)
    without_top = _sum(a.masked_fill(s.top, 0.0))
    top = torch.where(s.g * s.b < 1.0, without_top - c * (s.g * s.b / s.z), c / s.z - _sum(a.masked_fill(~s.top, 0.0)))
    u = torch.where(s.top, top, c * (s.g / s.z) * s.f - a)
    total = (_sum(a * (s.m - p)) + c * torch.log1p(s.g * s.b)).sum()
    if not by_index:
        count = torch.full_like(total, p.shape[0])
    elif weight is None:
        count = (flat != ignore_index).sum().to(total.dtype)
    else:
        counted = flat != ignore_index
        count = weight.to(p)[flat.masked_fill(~counted, 0)].masked_fill(~counted, 0.0).sum()
    sums = torch.stack([total, count])
    if probe == "gradient":
        return _result(sums, logits, u)
    v = {
        "imitation": lambda: _imitation(s),
        "diagonal": lambda: _diagonal(s),
        "gauss-newton": lambda: _gauss_newton(s, key),
        "sampled-label": lambda: _sampled_label(s, key),
    }[probe]()
    return _result(sums, logits, u, (c if scale == "mean" else c.sqrt()) * v)


@dataclass
class _Parts:
    """Of an elementwise loss: l, dl/dp, sqrt(|l''|), l''."""

    value: Tensor
    slope: Tensor
    root: Tensor
    second: Tensor


def _mse(p: Tensor, y: Tensor, _: Sequence[float]) -> _Parts:
    e = p - y
    return _Parts(0.5 * e * e, e, torch.ones_like(e), torch.ones_like(e))


def _bce(p: Tensor, y: Tensor, _: Sequence[float]) -> _Parts:
    e = torch.exp(-p.abs())
    smaller = e / (1.0 + e)
    positive = p >= 0.0
    half = torch.exp(-0.5 * p.abs())
    root = half / (1.0 + e)
    return _Parts(
        torch.where(positive, p * (1.0 - y), -p * y) + torch.log1p(e),
        torch.where(positive, (1.0 - y) - smaller, smaller - y),
        root,
        root * root,
    )


def _huber(p: Tensor, y: Tensor, options: Sequence[float]) -> _Parts:
    delta = options[0]
    e = p - y
    inside = e.abs() <= delta
    one = inside.to(e.dtype)
    value = torch.where(inside, 0.5 * e * e, delta * (e.abs() - 0.5 * delta))
    return _Parts(value, e.clamp(-delta, delta), one, one)


def _log_cosh(p: Tensor, y: Tensor, _: Sequence[float]) -> _Parts:
    e = p - y
    size = e.abs()
    near = 0.5 * torch.log1p(torch.sinh(size.clamp_max(1.0)).square())
    far = size + torch.log1p(torch.exp(-2.0 * size)) - math.log(2.0)
    small = torch.exp(-size)
    root = 2.0 * small / (1.0 + small * small)
    return _Parts(torch.where(size < 1.0, near, far), torch.tanh(e), root, root * root)


def _poisson(p: Tensor, y: Tensor, _: Sequence[float]) -> _Parts:
    rate = torch.exp(p)
    return _Parts(rate - y * p, rate - y, torch.exp(0.5 * p), rate)


def _squared_hinge(p: Tensor, y: Tensor, _: Sequence[float]) -> _Parts:
    margin = (1.0 - y * p).clamp_min(0.0)
    inside = (y * p < 1.0).to(p.dtype)
    return _Parts(margin * margin, -2.0 * y * margin, inside * math.sqrt(2.0), inside * 2.0)


def _focal(p: Tensor, y: Tensor, options: Sequence[float]) -> _Parts:
    gamma, alpha = options
    t = torch.where(y == 1.0, p, -p)
    size = t.abs()
    e = torch.exp(-size)
    right = t >= 0.0
    larger, smaller = 1.0 / (1.0 + e), e / (1.0 + e)
    q, other = torch.where(right, larger, smaller), torch.where(right, smaller, larger)
    loss = (-t).clamp_min(0.0) + torch.log1p(e)
    minus_log_other = t.clamp_min(0.0) + torch.log1p(e)
    weight = torch.where(y == 1.0, torch.full_like(y, alpha), torch.full_like(y, 1.0 - alpha))
    factor = weight * torch.exp(-gamma * minus_log_other)
    slope = -factor * (gamma * q * loss + other)
    bend = 2.0 * gamma + 1.0 - gamma * loss
    second = factor * q * (gamma * gamma * q * loss + other * bend)
    # l'' divided by (1-q)^gamma and e, whose roots are computed separately: they could underflow. loss / e -> 1.
    ratio = torch.where(e > 0.0, loss / e, torch.ones_like(e))
    at_right = q * (gamma * gamma * q * ratio + bend / (1.0 + e))
    at_left = (gamma * gamma * q * loss + other * bend) / (1.0 + e)
    rest = torch.where(right, at_right, at_left)
    root = torch.exp(-0.5 * (size + gamma * minus_log_other)) * torch.sqrt(weight * rest.abs())
    return _Parts(factor * loss, torch.where(y == 1.0, slope, -slope), root, second)


_FORMULAS: dict[str, Callable[[Tensor, Tensor, Sequence[float]], _Parts]] = {
    "mse": _mse,
    "bce": _bce,
    "huber": _huber,
    "log-cosh": _log_cosh,
    "poisson-nll": _poisson,
    "squared-hinge": _squared_hinge,
    "focal": _focal,
}


def _sampled(loss: str, p: Tensor, shape: tuple[int, int], key: Sequence[int]) -> Tensor:
    """dl/dp at a label drawn from the model."""
    rows = p.reshape(shape)
    if loss == "mse":
        return -_draws.draws("normal", *shape, key).to(p)
    if loss == "poisson-nll":
        return -_draws.centred_poisson(torch.exp(rows).to("cpu", torch.float64), key).to(p)
    probability = _bce(rows, torch.zeros_like(rows), ()).slope
    label = (_draws.draws("uniform", *shape, key).to(p) < probability).to(p.dtype)
    return _bce(rows, label, ()).slope


def row_shape(predictions: Tensor) -> tuple[int, int]:
    """Rows and outputs: [N] are N rows of one output, [..., C] have C outputs."""
    if predictions.dim() < 2:
        return predictions.numel(), 1
    return predictions.numel() // predictions.shape[-1], predictions.shape[-1]


def elementwise(
    loss: str, options: Sequence[float], predictions: Tensor, target: Tensor, probe: str, key: Sequence[int]
) -> list[Tensor]:
    p = predictions.to(_work_dtype(predictions))
    parts = _FORMULAS[loss](p, target.to(p.dtype), options)
    shape = row_shape(predictions)
    total = parts.value.sum()
    sums = torch.stack([total, torch.full_like(total, shape[0])])
    if probe == "gradient":
        return _result(sums, predictions, parts.slope)
    if probe == "gauss-newton":
        v = parts.root.reshape(shape) * _draws.signs(*shape, key).to(p)
    elif probe == "sampled-label":
        v = _sampled(loss, p, shape, key)
    else:
        v = parts.root
    return _result(sums, predictions, parts.slope, v)


def elementwise_second(loss: str, options: Sequence[float], predictions: Tensor, target: Tensor) -> Tensor:
    p = predictions.to(_work_dtype(predictions))
    return _FORMULAS[loss](p, target.to(p.dtype), options).second.to(predictions.dtype)
