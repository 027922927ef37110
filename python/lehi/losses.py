"""Losses that also know their probe v: value, u = dl/dp and v from one pass over the predictions.

    loss = lehi.cross_entropy(model(x), y, optimizer=optimizer)
    loss.backward()      # on refresh steps the probe is pulled back, too
    optimizer.step()

Rows: predictions [N] are N rows of one output, [..., C] have C outputs a row. The loss of a row is the sum over its
outputs, the value is the mean over rows. Nothing is broadcast. Formulas: include/lehi/losses.h and cross_entropy.h.
Half-precision predictions are read as float32. A factor on the loss (GradScaler's scale, 1 / micro-batches) does not
change the probe; the weight of one loss among several is `loss_weight`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch._compile import _disable_dynamo

from lehi import _kernels, _plain_losses, _rows
from lehi._backward import MeanLoss, ProbePass

if TYPE_CHECKING:
    from lehi.optimizer import Optimizer

PROBES = ("gradient", "imitation", "diagonal", "gauss-newton", "sampled-label")


@dataclass
class Request:
    """Which probe to make. key: seed, step, first row, term."""

    probe: str = "gradient"
    scale: str = "sqrt-n"
    key: Sequence[int] = (0, 1, 0, 0)


@dataclass
class Evaluation:
    """Sums over rows; u and v belong to the sum."""

    sum: Tensor
    count: Tensor
    vectors: dict[str, Tensor] = field(default_factory=dict)  # u, v, weight_u, weight_v

    @property
    def u(self) -> Tensor:
        return self.vectors["u"]

    @property
    def v(self) -> Tensor | None:
        return self.vectors.get("v")


def _evaluation(parts: Sequence[Tensor]) -> Evaluation:
    return Evaluation(parts[0][0], parts[0][1], dict(zip(("u", "v"), parts[1:], strict=False)))


class Loss(nn.Module):
    """Base of all losses."""

    name = "loss"
    probes: tuple[str, ...] = PROBES

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        _rows.check_reduction(self.name, reduction)

    def forward(
        self,
        predictions: Tensor,
        target: Tensor,
        *,
        optimizer: Any = None,
        loss_weight: float = 1.0,
        term: int | None = None,
    ) -> Tensor:
        """The mean loss times loss_weight. `term` numbers the losses of one step whose backward passes are apart."""
        return _differentiable_loss(self, predictions, target, optimizer, loss_weight, term)

    def evaluate(self, predictions: Tensor, target: Tensor, request: Request | None = None) -> Evaluation:
        """Sums over rows, without a graph."""
        request = request or Request()
        _rows.check_tensors(self.name, predictions, target)
        if request.probe not in self.probes:
            raise ValueError(f"{self.name} has no {request.probe} probe; it has {', '.join(self.probes)}")
        values, target = predictions.detach(), target.detach()
        if values.dtype in _rows.HALF:
            values = values.to(torch.float32)
            target = target.to(torch.float32) if target.is_floating_point() else target
        with torch.no_grad(), torch.autocast(values.device.type, enabled=False):
            return self._compute(values, target, request)

    def _compute(self, predictions: Tensor, target: Tensor, request: Request) -> Evaluation:
        raise NotImplementedError

    def weight_parameter(self) -> Tensor | None:
        """A weight that the loss itself applies (LinearCrossEntropyLoss)."""
        return None


def unwrap(optimizer: Any) -> Optimizer | None:
    """The lehi optimizer within what Accelerate, Lightning or another framework made of it."""
    from lehi.optimizer import Optimizer

    inner = optimizer
    while inner is not None and not isinstance(inner, Optimizer):
        inner = getattr(inner, "optimizer", None)
    if optimizer is not None and inner is None:
        raise TypeError(
            f"optimizer is a {type(optimizer).__name__}, not one of lehi's: leave optimizer= out for other optimizers"
        )
    return inner


def _check_weight(loss: Loss, weight: float) -> None:
    if not (weight >= 0.0) or math.isinf(weight):
        raise ValueError(f"{loss.name}: loss_weight is {weight}, but must be finite and >= 0")


def mean_of(loss: Loss, evaluation: Evaluation, weight: float) -> tuple[Tensor, Tensor]:
    """The value, and what u is multiplied by."""
    count = evaluation.count
    if count.device.type == "cpu" and float(count) == 0.0:
        raise ValueError(f"{loss.name}: every target is ignored or has weight 0, so the mean does not exist")
    scale = weight / count
    value = (evaluation.sum * scale).to(evaluation.u.dtype)
    return value, scale


@_disable_dynamo
def _differentiable_loss(
    loss: Loss, predictions: Tensor, target: Tensor, optimizer: Any, loss_weight: float, term: int | None
) -> Tensor:
    _check_weight(loss, loss_weight)
    owner = unwrap(optimizer)
    ticket, request = None, Request()
    weight = loss.weight_parameter()
    needs_graph = predictions.requires_grad or (weight is not None and weight.requires_grad)
    if owner is not None and torch.is_grad_enabled() and needs_graph:
        ticket, request = owner._open_loss(_plain_losses.row_shape(predictions)[0], loss_weight, term)
    evaluation = loss.evaluate(predictions, target, request)
    value, scale = mean_of(loss, evaluation, loss_weight)
    result: Tensor = MeanLoss.apply(  # type: ignore[no-untyped-call]
        predictions,
        weight,
        value,
        scale,
        evaluation.vectors,
        owner if ticket is not None else None,
        ticket,
        evaluation.count,
    )
    return result


@_disable_dynamo
def probe_loss(
    predictions: Tensor,
    target: Tensor,
    *,
    optimizer: Any,
    loss: Loss | None = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """The loss (cross-entropy by default) of a probe pass of its own, for fully_shard().

        if optimizer.needs_probe:
            lehi.probe_loss(model(x), y, optimizer=optimizer).backward()
        lehi.cross_entropy(model(x), y, optimizer=optimizer).backward()
        optimizer.step()

    Its backward pass is an ordinary one; when it ends, the optimizer has taken s out of .grad.
    """
    loss = CrossEntropyLoss() if loss is None else loss
    _check_weight(loss, loss_weight)
    owner = unwrap(optimizer)
    if owner is None:
        raise TypeError("probe_loss() needs optimizer=: the probe is for it")
    if loss.weight_parameter() is not None:
        raise ValueError(f"probe_loss() does not take {loss.name}: use cross_entropy on the logits")
    if not owner.needs_probe:
        raise RuntimeError(
            f"step {owner.steps + 1} needs no probe: call probe_loss() only if optimizer.needs_probe is true"
        )
    ticket, request = owner._open_loss(_plain_losses.row_shape(predictions)[0], loss_weight, term, separate=True)
    evaluation = loss.evaluate(predictions, target, request)
    value, _ = mean_of(loss, evaluation, loss_weight)
    v = evaluation.v
    assert v is not None
    result: Tensor = ProbePass.apply(  # type: ignore[no-untyped-call]
        predictions, value, v.to(predictions.dtype), owner, ticket, evaluation.count
    )
    return result


class CrossEntropyLoss(Loss):
    """Softmax cross-entropy on logits [..., C]: classes are the last dimension. Targets: class indices [...] or
    probabilities [..., C]. The mean divides by the total weight of the counted rows, as in torch."""

    name = "cross-entropy"

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        ignore_index: int = -100,
        label_smoothing: float = 0.0,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        if not 0.0 <= label_smoothing < 1.0:
            raise ValueError(
                f"cross-entropy: label_smoothing is {label_smoothing}; expected a number from 0 to below 1"
            )
        self.weight: Tensor | None
        self.register_buffer("weight", _checked_class_weights(weight))
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def _compute(self, predictions: Tensor, target: Tensor, request: Request) -> Evaluation:
        target = _rows.class_target(predictions, target)
        classes = predictions.shape[-1]
        if self.weight is not None and self.weight.numel() != classes:
            raise ValueError(
                f"cross-entropy: weight has {self.weight.numel()} entries, but predictions of shape "
                f"{_rows.shape_of(predictions)} have {classes} classes"
            )
        if request.probe == "imitation" and classes == 2:
            warnings.warn(
                "cross-entropy: with two classes the imitation probe is exactly 0, and LEHI becomes momentum with "
                "rate lr / sqrt(eps): use binary_cross_entropy_with_logits on one logit, or another probe",
                stacklevel=2,
            )
        weight = self.weight.to(predictions.device, torch.float64) if self.weight is not None else None
        return _evaluation(
            _kernels.cross_entropy(
                predictions,
                target,
                weight,
                self.label_smoothing,
                self.ignore_index,
                request.probe,
                request.scale,
                request.key,
            )
        )

    def extra_repr(self) -> str:
        return f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}"


def _checked_class_weights(weight: Tensor | None) -> Tensor | None:
    if weight is None:
        return None
    if weight.dim() != 1 or weight.numel() == 0:
        raise ValueError(
            f"cross-entropy: weight has shape {_rows.shape_of(weight)}; expected one number per class, [C]"
        )
    if not bool((torch.isfinite(weight) & (weight >= 0.0)).all()):
        raise ValueError("cross-entropy: every class's weight must be a finite number, 0 or above")
    return weight.detach().to(torch.float64)


class LinearCrossEntropyLoss(CrossEntropyLoss):
    """A linear layer without bias, and the cross-entropy of its outputs, in chunks of rows: the logits of all rows are
    never in memory at once. `linear_weight` [classes, width] may be tied to an embedding. Predictions are the hidden
    values [..., width]."""

    name = "linear-cross-entropy"

    def __init__(
        self,
        linear_weight: Tensor,
        weight: Tensor | None = None,
        *,
        ignore_index: int = -100,
        label_smoothing: float = 0.0,
        reduction: str = "mean",
        chunk_rows: int = 0,
    ) -> None:
        super().__init__(weight, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction)
        if linear_weight.dim() != 2 or linear_weight.numel() == 0 or not linear_weight.is_floating_point():
            raise ValueError(
                f"linear-cross-entropy: the linear weight is {linear_weight.dtype} {_rows.shape_of(linear_weight)}; "
                "expected floating-point numbers of shape [classes, width]"
            )
        if chunk_rows < 0:
            raise ValueError(f"linear-cross-entropy: chunk_rows is {chunk_rows}; expected 0 or more")
        # In a list, so that the module does not own a weight that is the model's.
        self._linear_weight = [linear_weight]
        self.chunk_rows = chunk_rows or max(1, (1 << 24) // linear_weight.shape[0])

    def weight_parameter(self) -> Tensor:
        return self._linear_weight[0]

    def _compute(self, predictions: Tensor, target: Tensor, request: Request) -> Evaluation:
        weight = self.weight_parameter().detach()
        hidden = predictions
        if hidden.shape[-1] != weight.shape[1] or hidden.dim() < 2:
            raise ValueError(
                f"linear-cross-entropy: the hidden values have shape {_rows.shape_of(hidden)}; expected "
                f"[..., {weight.shape[1]}], to match the weight of shape {_rows.shape_of(weight)}"
            )
        rows = hidden.reshape(-1, weight.shape[1])
        flat = target.reshape(-1, weight.shape[0]) if target.is_floating_point() else target.reshape(-1)
        if flat.shape[0] != rows.shape[0]:
            raise ValueError(
                f"linear-cross-entropy: {rows.shape[0]} rows of hidden values, but {flat.shape[0]} targets"
            )
        cast = weight.to(rows.dtype)
        kinds = ("u",) if request.probe == "gradient" else ("u", "v")
        result = Evaluation(torch.zeros((), dtype=torch.float64), torch.zeros((), dtype=torch.float64))
        for kind in kinds:
            result.vectors[kind] = torch.empty_like(rows)
            result.vectors["weight_" + kind] = torch.zeros_like(weight)
        seed, step, first_row, stream = request.key
        for first in range(0, rows.shape[0], self.chunk_rows):
            part = rows[first : first + self.chunk_rows]
            own = Request(request.probe, request.scale, (seed, step, first_row + first, stream))
            chunk = super()._compute(part @ cast.t(), flat[first : first + part.shape[0]], own)
            result.sum = result.sum.to(chunk.sum) + chunk.sum
            result.count = result.count.to(chunk.count) + chunk.count
            for kind in kinds:
                cotangent = chunk.vectors[kind]
                torch.mm(cotangent, cast, out=result.vectors[kind][first : first + part.shape[0]])
                result.vectors["weight_" + kind] += (cotangent.t() @ part).to(weight.dtype)
        for kind in kinds:
            result.vectors[kind] = result.vectors[kind].view(hidden.shape)
        return result


class _ElementwiseLoss(Loss):
    def _options(self) -> list[float]:
        return []

    def _compute(self, predictions: Tensor, target: Tensor, request: Request) -> Evaluation:
        target = _rows.elementwise_target(self.name, predictions, target)
        return _evaluation(
            _kernels.elementwise(self.name, self._options(), predictions, target, request.probe, request.key)
        )


class MSELoss(_ElementwiseLoss):
    """Half the squared error of each row, 1/2 |p - y|^2: outputs / 2 times torch's."""

    name = "mse"


class BCEWithLogitsLoss(_ElementwiseLoss):
    """Binary cross-entropy with logits; targets in [0, 1]. With C outputs a row, C times torch's."""

    name = "bce"


class HuberLoss(_ElementwiseLoss):
    """Quadratic up to delta, linear beyond."""

    name = "huber"
    probes = PROBES[:-1]

    def __init__(self, delta: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not delta > 0.0 or math.isinf(delta):
            raise ValueError(f"huber: delta is {delta}; expected a finite number above 0")
        self.delta = delta

    def _options(self) -> list[float]:
        return [self.delta]


class LogCoshLoss(_ElementwiseLoss):
    """log cosh of the error."""

    name = "log-cosh"
    probes = PROBES[:-1]


class PoissonNLLLoss(_ElementwiseLoss):
    """Poisson negative log likelihood with log-rate predictions, without log y!."""

    name = "poisson-nll"


class SquaredHingeLoss(_ElementwiseLoss):
    """max(0, 1 - y p)^2; targets are -1 or 1."""

    name = "squared-hinge"
    probes = PROBES[:-1]


class FocalLoss(_ElementwiseLoss):
    """Sigmoid focal loss (Lin et al. 2017); targets are 0 or 1."""

    name = "focal"
    probes = PROBES[:3]

    def __init__(self, gamma: float = 2.0, alpha: float = 0.25, *, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not gamma >= 0.0 or math.isinf(gamma):
            raise ValueError(f"focal: gamma is {gamma}; expected a finite number, 0 or above")
        if not 0.0 < alpha < 1.0:
            raise ValueError(f"focal: alpha is {alpha}; expected a number between 0 and 1")
        self.gamma, self.alpha = gamma, alpha

    def _options(self) -> list[float]:
        return [self.gamma, self.alpha]
