"""The state of a parameter: its counts and moments, their update, and how they are saved.

torch's form: state[p] = {"step", "covered", "m", "v", ...}, the optimizer's own counters in the first group.
The C++ library's: tensors by name, "optimizer.step", "layer.weight.m", ... (src/lib/optim/named_state.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lehi import _kernels, _matrix, _operators
from lehi._ranks import is_sharded, local_part

if TYPE_CHECKING:
    from lehi.optimizer import Optimizer

COUNTERS = ("steps", "schedule_start", "known_parameters", "recipe")
MOMENTS = ("m", "v", "v_max")
_STATES = (*MOMENTS, *_matrix.FACTORS, *_matrix.BASES)  # at least float32, on the parameter's device


def _zeros(parameter: Tensor) -> Tensor:
    dtype = torch.promote_types(parameter.dtype, torch.float32)
    return torch.zeros_like(parameter, dtype=dtype, requires_grad=False, memory_format=torch.preserve_format)


def begin_counts(state: dict[str, Any], kept: _operators.Coefficients) -> None:
    if "step" not in state:
        state["step"] = torch.tensor(0.0, dtype=torch.float32)
        state["covered"] = torch.tensor(0.0, dtype=torch.float64)
    if kept.momentum_product != 1.0:  # nadam
        state.setdefault("momentum_product", torch.tensor(1.0, dtype=torch.float64))


def begin(state: dict[str, Any], parameter: Tensor, kept: _operators.Coefficients) -> None:
    """Zeros where the state is missing."""
    begin_counts(state, kept)
    for name, keeps in zip(MOMENTS, (kept.keeps_m, kept.keeps_v, kept.keeps_v_max), strict=True):
        if keeps and name not in state:
            state[name] = _zeros(parameter)


def counts(state: dict[str, Any]) -> tuple[int, int, float]:
    """Step, steps covered, momentum product."""
    if "step" not in state:
        return 0, 0, 1.0
    product = state.get("momentum_product")
    return int(state["step"]), int(state["covered"]), 1.0 if product is None else float(product)


def set_counts(state: dict[str, Any], made: _operators.Coefficients) -> None:
    state["step"].fill_(made.step)
    state["covered"].fill_(made.steps_covered)
    if "momentum_product" in state:
        state["momentum_product"].fill_(made.momentum_product)


class Batch:
    """Parameters with the same coefficients, updated in one call."""

    def __init__(self, coefficients: _operators.Coefficients) -> None:
        self._made = coefficients
        self._states: list[dict[str, Any]] = []
        self._tensors: tuple[list[Tensor], ...] = ([], [], [], [], [], [])

    def add(self, state: dict[str, Any], parameter: Tensor, g: Tensor, s: Tensor | None) -> None:
        begin(state, parameter, self._made)
        self._states.append(state)
        row = (parameter, g, s, *(state.get(name) for name in MOMENTS))
        kept = (True, True, s is not None, self._made.keeps_m, self._made.keeps_v, self._made.keeps_v_max)
        for tensors, tensor, wanted in zip(self._tensors, row, kept, strict=True):
            if wanted and tensor is not None:
                tensors.append(local_part(tensor.detach()))

    def update(self, g_factor: float, s_factor: float) -> None:
        made = self._made
        if not made.updates:
            return
        values = _operators.with_factors(made.values, g_factor, s_factor)
        w, g, s, m, v, v_max = self._tensors
        _kernels.update(w, g, s, m, v, v_max, values)
        for state in self._states:
            set_counts(state, made)


# torch's form


def check_saved(state_dict: dict[str, Any], recipe: str) -> None:
    groups = state_dict["param_groups"]
    if not groups or any(name not in groups[0] for name in COUNTERS):
        raise ValueError(
            "this is the state of another optimizer, not one of lehi's: start without it, or load it into the "
            "optimizer that saved it"
        )
    if text := _operators.difference(groups[0]["recipe"], recipe):
        raise ValueError(f"the state was saved with another recipe: {text}")


def restore_precision(optimizer: Optimizer, state_dict: dict[str, Any]) -> None:
    """torch casts a loaded state to the parameter's dtype, which rounds counts and moments of half-precision ones."""
    ids = [i for group in state_dict["param_groups"] for i in group["params"]]
    for key, parameter in zip(ids, optimizer._parameters(), strict=True):
        for name, value in state_dict["state"].get(key, {}).items():
            if not isinstance(value, Tensor):
                continue
            moment = name in _STATES
            dtype = torch.promote_types(parameter.dtype, torch.float32) if moment else value.dtype
            device = parameter.device if moment else torch.device("cpu")
            optimizer.state[parameter][name] = value.detach().to(device=device, dtype=dtype, copy=True)


# The C++ library's form


def named(optimizer: Optimizer, names: Sequence[str]) -> dict[str, Tensor]:
    parameters = optimizer._parameters()
    _check_names(names, len(parameters))
    counters = optimizer.param_groups[0]
    letters = torch.tensor(list(str(counters["recipe"]).encode()), dtype=torch.uint8)
    result = {f"optimizer.{_OWN[name]}": torch.tensor(int(counters[name])) for name in COUNTERS[:3]}
    result["optimizer.recipe"] = letters
    for name, parameter in zip(names, parameters, strict=True):
        state = optimizer.state.get(parameter, {})
        step, covered, product = counts(state)
        result[f"{name}.step"] = torch.tensor(step)
        result[f"{name}.covered"] = torch.tensor(covered)
        kind = int(state.get("matrix", _matrix.DIAGONAL))
        if step == 0 and kind == _matrix.DIAGONAL:
            continue
        if optimizer.recipe.shape != "diagonal":
            result[f"{name}.matrix"] = torch.tensor(kind)
        for moment in MOMENTS:
            if moment in state:
                result[f"{name}.{moment}"] = _whole(state[moment]).contiguous()
        for side in _matrix.turned(kind):
            factor = state[_matrix.FACTORS[side]]
            result[f"{name}.{_matrix.FACTORS[side]}"] = factor
            result[f"{name}.{_matrix.BASES[side]}"] = state.get(_matrix.BASES[side], torch.zeros_like(factor))
        if "momentum_product" in state:
            result[f"{name}.momentum_product"] = torch.tensor(product, dtype=torch.float64)
    return result


_OWN = {"steps": "step", "schedule_start": "schedule_start", "known_parameters": "known_parameters"}


def _whole(tensor: Tensor) -> Tensor:
    whole: Tensor = tensor.full_tensor() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]
    return whole


def _check_names(names: Sequence[str], parameters: int) -> None:
    if len(names) != parameters:
        raise ValueError(f"{len(names)} names were given for {parameters} parameters")
    if len(set(names)) != len(names) or "optimizer" in names:
        raise ValueError("parameters need different names, none of them 'optimizer', to be told apart in a named state")


@torch.no_grad()
def load_named(optimizer: Optimizer, saved: dict[str, Tensor], names: Sequence[str]) -> None:
    """All is read and checked before anything changes."""
    parameters = optimizer._parameters()
    _check_names(names, len(parameters))
    left = dict(saved)

    def take(name: str, shape: Sequence[int] = ()) -> Tensor:
        if name not in left:
            raise ValueError(f"the optimizer's state has no '{name}'")
        value = left.pop(name)
        if list(value.shape) != list(shape):
            raise ValueError(f"the optimizer's state has '{name}' of shape {list(value.shape)}; expected {list(shape)}")
        return value

    counters = {name: int(take(f"optimizer.{own}")) for name, own in _OWN.items()}
    if "optimizer.recipe" in left:
        letters = left.pop("optimizer.recipe")
        if text := _operators.difference(bytes(letters.tolist()).decode(), optimizer._recipe_text):
            raise ValueError(f"the optimizer's state was saved with another recipe: {text}")
    fresh: list[dict[str, Tensor]] = []
    groups = [group for group in optimizer.param_groups for _ in group["params"]]
    for name, parameter, group in zip(names, parameters, groups, strict=True):
        step, covered = take(f"{name}.step"), take(f"{name}.covered")
        state: dict[str, Tensor] = {}
        fresh.append(state)
        kind = int(take(f"{name}.matrix")) if f"{name}.matrix" in left else _matrix.DIAGONAL
        if int(step) == 0 and kind == _matrix.DIAGONAL:
            continue
        if is_sharded(parameter):
            raise ValueError("load_named_state() does not take divided parameters: use torch.distributed.checkpoint")
        state["step"] = step.to(torch.float32)
        state["covered"] = covered.to(torch.float64)
        kept = optimizer._kept(group)
        if optimizer.recipe.shape != "diagonal":
            state["matrix"] = torch.tensor(kind)
        if kind == _matrix.ORTHOGONAL:
            kept = (True, False, False)
        blocks = _matrix.factor_sizes(parameter, optimizer._recipe_text) if _matrix.turned(kind) else {}
        for side in _matrix.turned(kind):
            factor = _matrix.FACTORS[side]
            for entry in (factor, _matrix.BASES[side]):
                tensor = take(f"{name}.{entry}", blocks[factor]).to(_zeros(parameter), copy=True)
                if entry == factor or bool(tensor.any()):  # a basis of zeros stands for one that was not there yet
                    state[entry] = tensor
        for moment, keeps in zip(MOMENTS, kept, strict=True):
            if keeps:
                state[moment] = _zeros(parameter).copy_(take(f"{name}.{moment}", parameter.shape))
        if optimizer.recipe.rule == "nadam":
            state["momentum_product"] = take(f"{name}.momentum_product").clone()
    if left:
        raise ValueError(
            f"the optimizer's state has '{min(left)}', which {optimizer.recipe_name} with these parameters does not keep"
        )
    for parameter, state in zip(parameters, fresh, strict=True):
        optimizer.state[parameter] = state
    optimizer.param_groups[0].update(counters)
