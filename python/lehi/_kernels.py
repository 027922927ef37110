"""Chooses between the C++ operators and plain torch operations, tensor by tensor."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from lehi import _draws, _operators, _plain_losses, _plain_update, _rows

_WIDE = (torch.float32, torch.float64)


def _native(tensor: Tensor) -> bool:
    return _operators.available and tensor.device.type == "cpu" and tensor.dtype in _WIDE


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
    if _native(logits):
        return _operators.cross_entropy(logits, target, weight, label_smoothing, ignore_index, probe, scale, key)
    if logits.device.type == "cpu":
        _rows.check_class_values(target, logits.shape[-1], ignore_index)
    return _plain_losses.cross_entropy(logits, target, weight, label_smoothing, ignore_index, probe, scale, key)


def elementwise(
    loss: str, options: Sequence[float], predictions: Tensor, target: Tensor, probe: str, key: Sequence[int]
) -> list[Tensor]:
    if _native(predictions):
        return _operators.elementwise(loss, options, predictions, target, probe, key)
    if predictions.device.type == "cpu":
        _rows.check_elementwise_values(loss, target)
    return _plain_losses.elementwise(loss, options, predictions, target, probe, key)


def signs(rows: int, outputs: int, key: Sequence[int]) -> Tensor:
    """float64 [rows, outputs] on the CPU."""
    if _operators.available:
        return _operators.draws("signs", rows, outputs, key)
    return _draws.signs(rows, outputs, key)


def first_outside(tensors: Sequence[Tensor], limit: float) -> int | None:
    """The first tensor with a NaN or an entry whose size is above `limit`."""
    if not tensors:
        return None
    if all(_native(t) and t.is_contiguous() for t in tensors):
        good = _operators.within(tensors, limit)
    else:
        # One read of the device, not one a tensor.
        largest = torch._foreach_norm([t for t in tensors], ord=float("inf"))
        good = torch.stack([x.to(tensors[0].device, torch.float64) for x in largest]) <= limit
    good = good.to("cpu")
    return None if bool(good.all()) else int((~good).to(torch.uint8).argmax())


def update(
    w: Sequence[Tensor],
    g: Sequence[Tensor],
    s: Sequence[Tensor],
    m: Sequence[Tensor],
    v: Sequence[Tensor],
    v_max: Sequence[Tensor],
    values: Sequence[float],
) -> None:
    """All are of one dtype and device. Those that the operator does not take go the plain way."""
    lists = (w, g, s, m, v, v_max)
    if _operators.available and _operators.fits(*lists):
        return _operators.update(*lists, values)
    for i in range(len(w)):
        one = [tensors[i : i + 1] for tensors in lists]
        native = _operators.available and _operators.fits(*one)
        run = _operators.update if native else _plain_update.update
        run(one[0], one[1], one[2], one[3], one[4], one[5], values)
