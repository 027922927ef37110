"""A loss from any torch function, without an auxiliary loss derived by hand.

The function takes predictions and target and returns losses, not their mean: a tensor of the predictions' shape if
every output contributes independently, or one loss per row if the outputs of a row are coupled ([rows], or the
predictions' shape without the last dimension). Rows must not depend on each other. u and the second derivatives come
from automatic differentiation with respect to the predictions; the network is not part of that graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lehi import _kernels, _rows
from lehi._plain_losses import row_shape
from lehi.losses import PROBES, Evaluation, Loss, Request

Function = Callable[[Tensor, Tensor], Tensor]

_CHECK_SAMPLE_KEY = (0, 0, 1 << 60, 0)


@dataclass
class _Graph:
    """One evaluation of the user's function, with the graph from the predictions to the losses."""

    predictions: Tensor
    losses: Tensor
    gradient: Tensor
    rows: int
    outputs: int
    elementwise: bool

    def hessian_times(self, w: Tensor) -> Tensor:
        """H w by one backward pass; 0 if the gradient is independent of the predictions."""
        if not self.gradient.requires_grad:
            return torch.zeros_like(self.predictions).detach()
        with torch.enable_grad():
            product = (self.gradient * w).sum()
        (result,) = torch.autograd.grad(product, self.predictions, retain_graph=True, allow_unused=True)
        return torch.zeros_like(self.predictions).detach() if result is None else result

    def exact_hessian(self) -> Tensor:
        """[rows, outputs, outputs], by one backward pass per output."""
        columns = []
        for j in range(self.outputs):
            unit = torch.zeros(self.rows, self.outputs).to(self.gradient)
            unit[:, j] = 1.0
            columns.append(self.hessian_times(unit.view_as(self.predictions)).reshape(self.rows, self.outputs))
        return torch.stack(columns, 2)

    def signs(self, key: tuple[int, ...]) -> Tensor:
        made = _kernels.signs(self.rows, self.outputs, key)
        return made.reshape(self.predictions.shape).to(self.predictions.detach())


@dataclass
class _Curvature:
    diagonal: Tensor  # the predictions' shape
    matrix: Tensor | None = None  # [rows, outputs, outputs] for few coupled outputs


class AutoLoss(Loss):
    """Probes: imitation and diagonal, both sqrt(|d2l/dp_i^2|); gauss-newton where the curvature is not negative. With
    more than `exact_outputs` coupled outputs the diagonal is Hutchinson's estimate from `samples` backward passes."""

    probes = PROBES[:-1]

    def __init__(self, function: Function, *, name: str = "auto", exact_outputs: int = 64, samples: int = 8) -> None:
        super().__init__()
        if not callable(function):
            raise TypeError(f"{name}: the function is a {type(function).__name__}; expected a callable")
        if exact_outputs < 0:
            raise ValueError(f"{name}: exact_outputs is {exact_outputs}; expected 0 or more")
        if samples < 1:
            raise ValueError(f"{name}: samples is {samples}; expected 1 or more")
        self._function = function
        self.name = name
        self.exact_outputs = exact_outputs
        self.samples = samples
        self._checked = False

    def _compute(self, predictions: Tensor, target: Tensor, request: Request) -> Evaluation:
        graph = self._differentiate(predictions, target, request.probe != "gradient")
        total = graph.losses.detach().sum(dtype=torch.float64)
        result = Evaluation(total, torch.full_like(total, graph.rows), {"u": graph.gradient.detach()})
        if request.probe == "gradient":
            return result
        if request.probe == "gauss-newton" and not graph.elementwise and graph.outputs > self.exact_outputs:
            raise ValueError(
                f"{self.name}: the gauss-newton probe of coupled outputs needs their whole Hessian, which is computed "
                f"for at most {self.exact_outputs} outputs, not {graph.outputs}: raise exact_outputs or use the "
                "diagonal probe"
            )
        key = tuple(request.key)
        curvature = self._curvature(graph, key)
        if not self._checked:
            self._check_independence(graph, curvature)
            self._checked = self._has_curvature(graph, curvature)
        if request.probe == "gauss-newton":
            result.vectors["v"] = self._root_times_signs(graph, curvature, graph.signs(key))
        else:
            result.vectors["v"] = curvature.diagonal.abs().sqrt()
        return result

    def _differentiate(self, predictions: Tensor, target: Tensor, keep_graph: bool) -> _Graph:
        with torch.enable_grad():
            leaf = predictions.detach().clone().requires_grad_()
            losses: Any = self._function(leaf, target)
        rows, outputs = row_shape(predictions)
        shapes = (predictions.shape, torch.Size((rows,)), predictions.shape[:-1])
        if not isinstance(losses, Tensor) or losses.dim() == 0 or losses.shape not in shapes:
            got = _rows.shape_of(losses) if isinstance(losses, Tensor) else type(losses).__name__
            raise ValueError(
                f"{self.name}: the function returned {got} for predictions of shape {_rows.shape_of(predictions)}; "
                f"expected losses of that shape, or one loss per row, [{rows}], not their sum or mean "
                "(reduction='none')"
            )
        if not losses.requires_grad:
            raise ValueError(
                f"{self.name}: the function's result does not depend on the predictions through differentiable "
                "operations"
            )
        with torch.enable_grad():
            (gradient,) = torch.autograd.grad(losses.sum(), leaf, create_graph=keep_graph)
        return _Graph(leaf, losses, gradient, rows, outputs, losses.shape == predictions.shape)

    def _curvature(self, graph: _Graph, key: tuple[int, ...]) -> _Curvature:
        if graph.elementwise:
            return _Curvature(graph.hessian_times(torch.ones_like(graph.predictions).detach()))
        if graph.outputs <= self.exact_outputs:
            matrix = graph.exact_hessian()
            return _Curvature(matrix.diagonal(0, 1, 2).reshape(graph.predictions.shape), matrix)
        total = torch.zeros_like(graph.predictions).detach()
        for k in range(self.samples):
            # Samples are rows far away from those of any batch.
            signs = graph.signs((key[0], key[1], key[2] + ((k + 1) << 50), key[3]))
            total += signs * graph.hessian_times(signs)
        return _Curvature(total / self.samples)

    def _check_independence(self, graph: _Graph, curvature: _Curvature) -> None:
        """A loss must not depend on another output, or another row, than its own."""
        if not graph.elementwise and curvature.matrix is None:
            return  # Hutchinson's estimate is not exact
        signs = graph.signs(_CHECK_SAMPLE_KEY)
        exact = graph.hessian_times(signs)
        if curvature.matrix is None:
            expected = curvature.diagonal * signs
        else:
            expected = (curvature.matrix @ signs.reshape(graph.rows, graph.outputs, 1)).reshape(exact.shape)
        tolerance = 1e-3 if exact.dtype == torch.float32 else 1e-8
        if bool((exact - expected).abs().max() <= tolerance * exact.abs().max()):
            return
        if graph.elementwise:
            raise ValueError(
                f"{self.name}: the function returned one loss per output, but some depend on other outputs too: return "
                "one loss per row"
            )
        raise ValueError(
            f"{self.name}: the function returned one loss per row, but some depend on other rows too: rows must be "
            "independent"
        )

    def _has_curvature(self, graph: _Graph, curvature: _Curvature) -> bool:
        """False if this batch does not show it: beyond its margin a squared hinge has neither slope nor curvature."""
        if bool(curvature.diagonal.any()):
            return True
        if not bool(graph.gradient.detach().any()):
            return False
        raise ValueError(
            f"{self.name}: its second derivatives are 0 at every prediction of this batch; a loss without curvature, "
            "such as the absolute error, cannot be used with a curvature probe: use an optimizer of the gradient probe"
        )

    def _root_times_signs(self, graph: _Graph, curvature: _Curvature, signs: Tensor) -> Tensor:
        """H^(1/2) r."""

        def negative(row: int, value: float) -> ValueError:
            return ValueError(
                f"{self.name}: the curvature of row {row} is negative ({value}), so it has no gauss-newton factor: use "
                "the diagonal probe"
            )

        if curvature.matrix is None:
            least = curvature.diagonal.min()
            if float(least) < 0.0:
                raise negative(int(curvature.diagonal.argmin()) // graph.outputs, float(least))
            return curvature.diagonal.sqrt() * signs
        values, vectors = torch.linalg.eigh(curvature.matrix.to(torch.float64))
        rounding = 1e-5 if curvature.matrix.dtype == torch.float32 else 1e-12
        smallest = values.amin(1)
        bad = smallest < -rounding * values.abs().amax(1)
        if bool(bad.any()):
            row = int(bad.to(torch.uint8).argmax())
            raise negative(row, float(smallest[row]))
        r = signs.reshape(graph.rows, graph.outputs, 1).to(torch.float64)
        root: Tensor = vectors @ (values.clamp_min(0.0).sqrt().unsqueeze(2) * (vectors.mT @ r))
        return root.reshape(graph.predictions.shape).to(graph.predictions.dtype)


def auto(function: Function, *, name: str = "auto", exact_outputs: int = 64, samples: int = 8) -> AutoLoss:
    """A loss module of any twice differentiable function: auto(fn)(predictions, target, optimizer=optimizer)."""
    return AutoLoss(function, name=name, exact_outputs=exact_outputs, samples=samples)
