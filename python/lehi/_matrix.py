"""The update of a parameter that is taken as a matrix: the shapes kronecker and orthogonal of include/lehi/recipe.h.

In torch operations, as src/lib/optim/matrix_update.cpp. A matrix is out x (all other dimensions).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lehi import _kernels, _operators

DIAGONAL, LEFT, RIGHT, BOTH, ORTHOGONAL = range(5)  # the values of saved states
FACTORS = ("left", "right")
BASES = ("left_basis", "right_basis")
_W_DECAY, _COUPLED_DECAY = 11, 13

# Tables of rows rather than maps, and the last layer where it is named as usual.
DIAGONAL_NAMES = ("embed", "embedding", "embeddings", "wte", "wpe", "head", "classifier")


@dataclass
class Shapes:
    """Which matrices take the recipe's shape."""

    recipe: str
    shape: str
    diagonal_names: Sequence[str] = DIAGONAL_NAMES
    largest_side: int = 8192

    def kind(self, parameter: Tensor, name: str, group: dict[str, Any], predictions: float) -> int:
        words = {name, *re.split("[._]", name)}
        if self.shape == "diagonal" or group.get("diagonal") or words & set(self.diagonal_names):
            return DIAGONAL
        rows, columns = sizes(parameter)
        if self.shape == "orthogonal":
            fits = min(rows, columns) > 1 and max(rows, columns) <= self.largest_side
            return ORTHOGONAL if fits else DIAGONAL
        left, right = _operators.matrix_blocks(
            self.recipe, rows, columns, parameter.dim() > 2, predictions, self.largest_side
        )
        return (LEFT if left else 0) + (RIGHT if right else 0)


def sizes(parameter: Tensor) -> tuple[int, int]:
    if parameter.dim() < 2 or parameter.numel() == 0:
        return 1, 1
    return parameter.shape[0], parameter.numel() // parameter.shape[0]


def factor_sizes(parameter: Tensor, recipe: str) -> dict[str, tuple[int, int, int]]:
    """[blocks, length, length] of each side, were it turned."""
    rows, columns = sizes(parameter)
    both = re.sub("sides=[a-z]+", "sides=both", recipe)
    left, right = _operators.matrix_blocks(both, rows, columns, False, math.inf, 1 << 40)
    result = {}
    for name, side, length in (("left", rows, left), ("right", columns, right)):
        if length:
            result[name] = (side // length, length, length)
    return result


def turned(kind: int) -> list[int]:
    """0 for the rows' side, 1 for the columns' side."""
    return [side for side in (0, 1) if kind in ((LEFT, BOTH), (RIGHT, BOTH))[side]]


def begin(state: dict[str, Any], parameter: Tensor, kind: int, made: _operators.Coefficients, recipe: str) -> None:
    dtype = torch.promote_types(parameter.dtype, torch.float32)

    def zero(name: str, shape: Sequence[int]) -> None:
        if name not in state:
            state[name] = torch.zeros(list(shape), dtype=dtype, device=parameter.device)

    if made.keeps_m or kind == ORTHOGONAL:
        zero("m", parameter.shape)
    if kind == ORTHOGONAL:
        return
    if made.keeps_v:
        zero("v", parameter.shape)
    if made.keeps_v_max:
        zero("v_max", parameter.shape)
    blocks = factor_sizes(parameter, recipe)
    for side in turned(kind):
        zero(FACTORS[side], blocks[FACTORS[side]])


@dataclass
class MatrixStep:
    """What the matrices of a group share in a step."""

    settings: dict[str, float]  # lr, weight_decay, momentum, nesterov, beta3
    coupled: bool
    step_factor: float
    plan: _operators.Plan
    g_factor: float
    s_factor: float

    def update(
        self, parameter: Tensor, g: Tensor, s: Tensor | None, state: dict[str, Any], made: _operators.Coefficients
    ) -> bool:
        """True if the parameter was updated and is to be counted."""
        kind = int(state["matrix"])
        gradient = _as_matrix(g)
        if self.g_factor != 1.0:
            gradient = gradient * self.g_factor
        if self.coupled and self.settings["weight_decay"] != 0.0:
            gradient = gradient.add(_as_matrix(parameter), alpha=self.settings["weight_decay"])
        if kind == ORTHOGONAL:
            self._update_orthogonal(parameter, gradient, state)
            return True
        probe = None
        if self.plan.second_backward:
            probe = torch.zeros_like(gradient) if s is None else _as_matrix(s)
        if self.plan.probe_factors and probe is not None:
            self._add_factors(probe, self.s_factor, kind, state)
            _renew_bases(kind, state)
        updates = made.updates and _has_bases(state)
        if updates:
            self._update_in_bases(parameter, gradient, probe, state, made)
        if self.plan.gradient_factors:
            self._add_factors(gradient, 1.0, kind, state)
            # A matrix that has its first gradient between two new bases would wait for the next ones.
            if self.plan.gradient_bases or not _has_bases(state):
                _renew_bases(kind, state)
        return updates

    def _update_orthogonal(self, parameter: Tensor, gradient: Tensor, state: dict[str, Any]) -> None:
        momentum, rate = self.settings["momentum"], self.settings["lr"]
        m = _view(state["m"])
        m.lerp_(gradient, 1.0 - momentum)
        direction = gradient.lerp(m, momentum) if self.settings["nesterov"] else m
        decay = 1.0 if self.coupled else 1.0 - rate * self.settings["weight_decay"]
        _add_change(parameter, decay, -0.2 * rate * math.sqrt(max(m.shape)), orthogonal(direction))

    def _add_factors(self, matrix: Tensor, factor: float, kind: int, state: dict[str, Any]) -> None:
        decay = self.settings["beta3"]
        for side in turned(kind):
            kept = state[FACTORS[side]]
            blocks = (matrix if side == 0 else matrix.t()).reshape(kept.shape[0], kept.shape[1], -1)
            kept.baddbmm_(blocks, blocks.mT, beta=decay, alpha=(1.0 - decay) * factor * factor)

    def _update_in_bases(
        self,
        parameter: Tensor,
        gradient: Tensor,
        probe: Tensor | None,
        state: dict[str, Any],
        made: _operators.Coefficients,
    ) -> None:
        values = _operators.with_factors(made.values, 1.0, self.s_factor)
        decay = values[_W_DECAY]
        values[_W_DECAY], values[_COUPLED_DECAY] = 1.0, 0.0
        g = _turn(gradient, state)
        s = [_turn(probe, state)] if self.plan.squares_probe and probe is not None else []
        change = torch.zeros_like(g)
        m, v, v_max = ([_view(state[name])] if name in state else [] for name in ("m", "v", "v_max"))
        _kernels.update([change], [g], s, m, v, v_max, values)
        _add_change(parameter, decay, self.step_factor, _turn(change, state, back=True))


def _as_matrix(like_parameter: Tensor) -> Tensor:
    dtype = torch.promote_types(like_parameter.dtype, torch.float32)
    return like_parameter.detach().to(dtype).reshape(like_parameter.shape[0], -1).contiguous()


def _view(moment: Tensor) -> Tensor:
    return moment.view(moment.shape[0], -1)


def _add_change(parameter: Tensor, decay: float, factor: float, change: Tensor) -> None:
    """W <- decay W + factor change, where W may be in any memory order or type."""
    weights = parameter.detach()
    weights.copy_(weights.to(change.dtype).mul(decay).add_(change.reshape(weights.shape), alpha=factor))


def _has_bases(state: dict[str, Any]) -> bool:
    return any(name in state for name in BASES)


def _times(matrix: Tensor, basis: Tensor, side: int, back: bool) -> Tensor:
    """The product of each block of rows (side 0) or columns (side 1) with its basis or the basis's transpose."""
    if side == 1:
        return _times(matrix.t(), basis, 0, back).t().contiguous()
    blocks = matrix.reshape(basis.shape[0], basis.shape[1], -1)
    return torch.bmm(basis if back else basis.mT, blocks).reshape(matrix.shape)


def _turn(matrix: Tensor, state: dict[str, Any], back: bool = False, only: int | None = None) -> Tensor:
    for side in (0, 1):
        if BASES[side] in state and only in (None, side):
            matrix = _times(matrix, state[BASES[side]], side, back)
    return matrix


def _orthonormal(matrix: Tensor) -> Tensor:
    q: Tensor = torch.linalg.qr(matrix)[0]
    return q.contiguous()


def _next_block(factor: Tensor, old: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """The next basis of one block, and the order of its old vectors."""
    if old is None:
        if factor.shape[0] > 1024:
            return _orthonormal(factor), None
        return torch.linalg.eigh(factor)[1].flip(1).contiguous(), None
    product = factor @ old
    order = (old * product).sum(0).argsort(stable=True, descending=True)
    return _orthonormal(product.index_select(1, order)), order


def _renew_bases(kind: int, state: dict[str, Any]) -> None:
    for side in turned(kind):
        factor, old = state[FACTORS[side]], state.get(BASES[side])
        if not bool(torch.isfinite(factor).all()):
            continue
        blocks = [_next_block(factor[i], None if old is None else old[i]) for i in range(factor.shape[0])]
        vectors = torch.stack([block[0] for block in blocks])
        orders = [order + i * factor.shape[1] for i, (_, order) in enumerate(blocks) if order is not None]
        _change_basis(side, vectors, torch.cat(orders) if orders else None, state)


def _change_basis(side: int, vectors: Tensor, order: Tensor | None, state: dict[str, Any]) -> None:
    """m is turned on into the new basis; the entries of v follow their vectors."""
    if "m" in state:
        m = _view(state["m"])
        unturned = _turn(m, state, back=True, only=side)
        m.copy_(_times(unturned, vectors, side, back=False))
    if order is not None:
        for name in ("v", "v_max"):
            if name in state:
                v = _view(state[name])
                v.copy_(v.index_select(side, order))
    state[BASES[side]] = vectors


def orthogonal(matrix: Tensor) -> Tensor:
    """Five Newton-Schulz iterations towards the nearest orthogonal matrix (Jordan et al. 2024)."""
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.t() if tall else matrix
    x = x / x.norm().clamp_min(1e-7)
    for _ in range(5):
        gram = x @ x.t()
        polynomial = torch.addmm(gram, gram, gram, beta=-4.775, alpha=2.0315)
        x = torch.addmm(x, polynomial, x, beta=3.4445)
    return x.t() if tall else x
