"""The operators ``torch.ops.lehi.*``: loads their library and gives names to what they return.

The contract is python/OPERATORS.md. Without the library the functions of the plan are those of _plan.py, and the others
must not be called.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import _plan
from ._plan import NUMBERS, Coefficients, Plan

__all__ = [
    "NUMBERS",
    "Coefficients",
    "Plan",
    "available",
    "check",
    "coefficients",
    "cross_entropy",
    "difference",
    "draws",
    "elementwise",
    "elementwise_second",
    "fits",
    "loop_level",
    "matrix_blocks",
    "norms",
    "plan_step",
    "presets",
    "probe_factor",
    "update",
    "why_unavailable",
    "with_factors",
    "within",
]

_library = "liblehi_operators.so"


def _load() -> str:
    """Loads the library; a sentence where that fails."""
    places = [pathlib.Path(place, _library) for place in sys.modules[__package__ or ""].__path__]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        return f"lehi was installed without its C++ operators ({_library})"
    try:
        load: Any = torch.ops.load_library
        load(path)
    except (OSError, RuntimeError) as error:
        return f"torch {torch.__version__} could not load lehi's C++ operators: {error}"
    return ""


why_unavailable = _load()
available = not why_unavailable
_ops: Any = torch.ops.lehi


def presets() -> dict[str, dict[str, Any]]:
    """Every preset's summary, recipe and default numbers."""
    return _plan.presets_from(_ops.presets()) if available else _plan.presets()


def check(recipe: str, numbers: Sequence[float]) -> str:
    """The recipe with all its parts; ValueError for a recipe or numbers that are wrong."""
    result: str = _ops.check(recipe, numbers) if available else _plan.check(recipe, numbers)
    return result


def difference(saved: str, recipe: str) -> str:
    """Which part of a saved recipe differs; "" where none does."""
    result: str = _ops.difference(saved, recipe) if available else _plan.difference(saved, recipe)
    return result


def plan_step(recipe: str, step: int) -> Plan:
    """What step 1, 2, ... of the schedule needs."""
    if not available:
        return _plan.plan_step(recipe, step)
    feed, covers, *rest = _ops.plan_step(recipe, step)
    return Plan(feed, covers, *map(bool, rest))


def coefficients(
    recipe: str,
    numbers: Sequence[float],
    schedule_step: int,
    step: int,
    steps_covered: int,
    momentum_product: float,
    count: float,
) -> Coefficients:
    """The coefficients of one parameter's step. The counts are those before it; `count` is B in Sophia-G."""
    arguments = (recipe, numbers, schedule_step, step, steps_covered, momentum_product, count)
    if not available:
        return _plan.coefficients(*arguments)
    updates, step, covered, product, keeps_m, keeps_v, keeps_v_max, *values = _ops.coefficients(*arguments)
    kept = (bool(keeps_m), bool(keeps_v), bool(keeps_v_max))
    return Coefficients(bool(updates), int(step), int(covered), product, *kept, values)


def probe_factor(scale: str, weight: float, count: float) -> float:
    """The factor of the pulled-back probe of a loss term with this weight that averages over `count` predictions."""
    result: float = _ops.probe_factor(scale, weight, count) if available else _plan.probe_factor(scale, weight, count)
    return result


def matrix_blocks(
    recipe: str, rows: int, columns: int, convolution: bool, predictions: float, largest_side: int
) -> tuple[int, int]:
    """The length of the blocks of a matrix's rows and columns in the kronecker shape; 0: not turned."""
    blocks = _ops.matrix_blocks if available else _plan.matrix_blocks
    left, right = blocks(recipe, rows, columns, convolution, predictions, largest_side)
    return left, right


def loop_level() -> str:
    """The instruction set of the loops on this machine."""
    result: str = _ops.loop_level()
    return result


def draws(kind: str, rows: int, outputs: int, key: Sequence[int]) -> Tensor:
    """The random numbers of the losses: signs, uniform or normal, float64 [rows, outputs]."""
    result: Tensor = _ops.draws(kind, rows, outputs, key)
    return result


def with_factors(values: Sequence[float], g_factor: float, s_factor: float) -> list[float]:
    """The values of `Coefficients` for gradients and probes that are to be multiplied by these factors first."""
    form, feed, _, _, *rest = values
    return [form, feed, g_factor, s_factor, *rest]


def fits(w: Sequence[Tensor], *others: Sequence[Tensor]) -> bool:
    """True if `update` takes these lists: g, s, m, v and v_max, each as long as w or empty."""
    return all(_is_plain(t) and t.dtype == w[0].dtype and _is_dense(t) for t in w) and all(
        _is_plain(t) and t.dtype == w[0].dtype and t.shape == of.shape and t.stride() == of.stride()
        for tensors in others
        for t, of in zip(tensors, w)
    )


def _is_plain(tensor: Tensor) -> bool:
    return (
        tensor.device.type == "cpu"
        and tensor.layout == torch.strided
        and tensor.dtype in (torch.float32, torch.float64)
    )


def _is_dense(tensor: Tensor) -> bool:
    if tensor.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def update(
    w: Sequence[Tensor],
    g: Sequence[Tensor],
    s: Sequence[Tensor],
    m: Sequence[Tensor],
    v: Sequence[Tensor],
    v_max: Sequence[Tensor],
    values: Sequence[float],
) -> None:
    """The update of parameters that share their coefficients. Empty lists: not kept, or not read."""
    if not w:  # the dispatcher finds no device
        return
    _ops.update(w, g, s, m, v, v_max, values)
    torch.autograd.graph.increment_version([*w, *m, *v, *v_max])


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
    """Softmax cross-entropy, classes last: float64 [sum, count], u of the sum, and v unless the probe is gradient."""
    result: list[Tensor] = _ops.cross_entropy(logits, target, weight, label_smoothing, ignore_index, probe, scale, key)
    return result


def elementwise(
    loss: str, options: Sequence[float], predictions: Tensor, target: Tensor, probe: str, key: Sequence[int]
) -> list[Tensor]:
    """mse, bce, huber, log-cosh, poisson-nll, squared-hinge or focal; returns as cross_entropy does."""
    result: list[Tensor] = _ops.elementwise(loss, options, predictions, target, probe, key)
    return result


def elementwise_second(loss: str, options: Sequence[float], predictions: Tensor, target: Tensor) -> Tensor:
    """The second derivative of every element."""
    result: Tensor = _ops.elementwise_second(loss, options, predictions, target)
    return result


def norms(tensors: Sequence[Tensor]) -> Tensor:
    """float64 [n, 3]: sum of squares, largest absolute value, 1 if all entries are finite else 0."""
    result: Tensor = _ops.norms(tensors) if tensors else torch.empty((0, 3), dtype=torch.float64)
    return result


def within(tensors: Sequence[Tensor], limit: float) -> Tensor:
    """bool [n]: no NaN, and no absolute value above the limit."""
    result: Tensor = _ops.within(tensors, limit) if tensors else torch.empty((0,), dtype=torch.bool)
    return result


def _like(tensor: Tensor) -> Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format, requires_grad=False)


def _evaluation(predictions: Tensor, probe: str) -> list[Tensor]:
    sums = predictions.new_empty((2,), dtype=torch.float64)
    return [sums, *(_like(predictions) for _ in range(1 if probe == "gradient" else 2))]


# What the operators return, without computing it: for torch.compile and FakeTensorMode.
_fakes: dict[str, Callable[..., Any]] = {
    "update": lambda w, g, s, m, v, v_max, values: None,
    "cross_entropy": lambda logits, target, weight, label_smoothing, ignore_index, probe, scale, key: _evaluation(
        logits, probe
    ),
    "elementwise": lambda loss, options, predictions, target, probe, key: _evaluation(predictions, probe),
    "elementwise_second": lambda loss, options, predictions, target: _like(predictions),
    "draws": lambda kind, rows, outputs, key: torch.empty((rows, outputs), dtype=torch.float64),
    "norms": lambda tensors: torch.empty((len(tensors), 3), dtype=torch.float64),
    "within": lambda tensors, limit: torch.empty((len(tensors),), dtype=torch.bool),
}

if available:
    for _name, _fake in _fakes.items():
        torch.library.register_fake(f"lehi::{_name}", _fake)
