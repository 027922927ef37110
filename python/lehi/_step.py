"""A step from its gradients and probes: scale them, check them, update weight by weight or matrix by matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lehi import _kernels, _matrix, _operators, _ranks, _state
from lehi._recipe import numbers_of

if TYPE_CHECKING:
    from lehi.optimizer import Optimizer


@dataclass
class Gradients:
    """g and s by parameter, and what each is still to be multiplied by."""

    g: list[Tensor | None]
    s: list[Tensor | None]
    g_factor: float = 1.0
    s_factor: float = 1.0
    count: float = 1.0
    counted: bool = False  # the number of predictions is known


def dense_grad(parameter: Tensor) -> Tensor | None:
    g = parameter.grad
    if g is not None and g.layout != torch.strided:
        raise ValueError(
            f"a parameter of shape {list(parameter.shape)} has a sparse gradient: use dense embeddings (sparse=False)"
        )
    return g


def _check_factors(factors: Sequence[Tensor]) -> None:
    """On the CPU only: elsewhere it would wait for the device."""
    values = {float(f) for f in factors if f.device.type == "cpu"}
    if len(values) > 1:
        raise ValueError(
            f"the losses of this step were multiplied by different factors ({', '.join(map(str, sorted(values)))}), "
            "which the probe does not see: give them as loss_weight= instead"
        )


def scaled_probe(optimizer: Optimizer, plan: _operators.Plan, g: list[Tensor | None]) -> Gradients:
    """s of all loss terms, scaled by their weights and counts."""
    result = Gradients(g, [None] * len(g))
    terms = [term for _, term in sorted(optimizer._collector.terms.items()) if term.count is not None]
    if terms and terms[0].count is not None:
        result.count, result.counted = float(terms[0].count), True
    elif optimizer.recipe.rule == "sophia":
        raise RuntimeError(
            f"{optimizer.recipe_name} needs the number of predictions at every step: compute the loss by one of lehi's "
            "losses with optimizer=optimizer"
        )
    if not plan.second_backward:
        return result
    probed = [term for term in terms if term.s is not None and term.count is not None]
    _check_factors([term.factors[0] for term in probed if term.factors])
    factors = [_operators.probe_factor(optimizer.recipe.scale, t.weight, float(t.count)) for t in probed]  # type: ignore[arg-type]
    if len(probed) == 1 and probed[0].s is not None:
        result.s, result.s_factor = probed[0].s, factors[0]
        return result
    for term, factor in zip(probed, factors, strict=True):
        for i, part in enumerate(term.s or []):
            if part is not None:
                old = result.s[i]
                result.s[i] = part * factor if old is None else old + part * factor
    return result


def problem(optimizer: Optimizer, plan: _operators.Plan, gradients: Gradients) -> str | None:
    """What is not finite, or would not be when squared."""
    for tensors, factor, squared, what in (
        (gradients.g, gradients.g_factor, plan.squares_gradient or plan.gradient_factors, "gradient"),
        (gradients.s, gradients.s_factor, plan.squares_probe, "probe"),
    ):
        places = [i for i, t in enumerate(tensors) if t is not None]
        local = [_ranks.local_part(t) for t in tensors if t is not None]
        by_dtype: dict[torch.dtype, list[int]] = {}
        for j, tensor in enumerate(local):
            by_dtype.setdefault(tensor.dtype, []).append(j)
        for dtype, members in by_dtype.items():
            largest = torch.finfo(torch.promote_types(dtype, torch.float32)).max
            limit = 2.0**-10 * math.sqrt(largest) / max(abs(factor), 2.0**-500) if squared else largest
            bad = _kernels.first_outside([local[j] for j in members], min(limit, torch.finfo(dtype).max))
            if bad is not None:
                return f"the {what} of {optimizer._names()[places[members[bad]]]} is not finite, or its square is not"
    return None


def update(optimizer: Optimizer, schedule_step: int, plan: _operators.Plan, gradients: Gradients) -> None:
    index = -1
    for group in optimizer.param_groups:
        numbers = numbers_of(group, optimizer._numbers)
        matrix_step = matrix_step_of(optimizer, numbers, plan, gradients)
        batches: dict[tuple[Any, ...], _state.Batch] = {}
        for parameter in group["params"]:
            index += 1
            g = gradients.g[index]
            if g is None:
                continue
            state = optimizer.state[parameter]
            counts = _state.counts(state)
            if is_matrix(optimizer, state, parameter, group, index, gradients):
                made = _operators.coefficients(optimizer._recipe_text, numbers, schedule_step, *counts, gradients.count)
                _state.begin_counts(state, made)
                _matrix.begin(state, parameter, int(state["matrix"]), made, optimizer._recipe_text)
                if matrix_step.update(parameter, g, gradients.s[index], state, made):
                    _state.set_counts(state, made)
                continue
            key = (*counts, parameter.dtype, parameter.device)
            batch = batches.get(key)
            if batch is None:
                made = _operators.coefficients(optimizer._recipe_text, numbers, schedule_step, *counts, gradients.count)
                batch = batches[key] = _state.Batch(made)
            s = None
            if plan.squares_probe:
                s = gradients.s[index]
                s = torch.zeros_like(g) if s is None else s
            batch.add(state, parameter, g, s)
        for batch in batches.values():
            batch.update(gradients.g_factor, gradients.s_factor)


def is_matrix(
    optimizer: Optimizer,
    state: dict[str, Any],
    parameter: Tensor,
    group: dict[str, Any],
    index: int,
    gradients: Gradients,
) -> bool:
    """Decided at a parameter's first step."""
    if optimizer.recipe.shape == "diagonal":
        return False
    if "matrix" not in state:
        predictions = gradients.count if gradients.counted else math.inf
        kind = optimizer._shapes.kind(parameter, optimizer._names()[index], group, predictions)
        state["matrix"] = torch.tensor(kind)
    return int(state["matrix"]) != _matrix.DIAGONAL


def matrix_step_of(
    optimizer: Optimizer, numbers: Sequence[float], plan: _operators.Plan, gradients: Gradients
) -> _matrix.MatrixStep:
    return _matrix.MatrixStep(
        settings=dict(zip(_operators.NUMBERS, numbers, strict=True)),
        coupled=optimizer.recipe.decay == "coupled",
        step_factor=optimizer.recipe.step_factor,
        plan=plan,
        g_factor=gradients.g_factor,
        s_factor=gradients.s_factor,
    )
