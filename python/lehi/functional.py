"""The losses as functions. `optimizer`, `loss_weight` and `term` are those of lehi.Loss.forward."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from lehi import losses


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """Softmax cross-entropy on logits [..., C]; classes are the last dimension."""
    loss = losses.CrossEntropyLoss(
        weight, ignore_index=ignore_index, label_smoothing=label_smoothing, reduction=reduction
    )
    return loss.forward(input, target, optimizer=optimizer, loss_weight=loss_weight, term=term)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    chunk_rows: int = 0,
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """cross_entropy(input @ linear_weight.T, target) without ever holding all logits."""
    loss = losses.LinearCrossEntropyLoss(
        linear_weight,
        weight,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction=reduction,
        chunk_rows=chunk_rows,
    )
    return loss.forward(input, target, optimizer=optimizer, loss_weight=loss_weight, term=term)


def mse_loss(
    input: Tensor,
    target: Tensor,
    *,
    reduction: str = "mean",
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """Half the squared error of a row, mean over rows: outputs / 2 times torch's."""
    return losses.MSELoss(reduction).forward(input, target, optimizer=optimizer, loss_weight=loss_weight, term=term)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    *,
    reduction: str = "mean",
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """Sum over the outputs of a row, mean over rows."""
    return losses.BCEWithLogitsLoss(reduction).forward(
        input, target, optimizer=optimizer, loss_weight=loss_weight, term=term
    )


def huber_loss(
    input: Tensor,
    target: Tensor,
    *,
    delta: float = 1.0,
    reduction: str = "mean",
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """Sum over the outputs of a row, mean over rows."""
    return losses.HuberLoss(delta, reduction=reduction).forward(
        input, target, optimizer=optimizer, loss_weight=loss_weight, term=term
    )


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    *,
    reduction: str = "mean",
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """Log-rate predictions, as torch's with log_input=True and full=False."""
    return losses.PoissonNLLLoss(reduction).forward(
        input, target, optimizer=optimizer, loss_weight=loss_weight, term=term
    )


def log_cosh_loss(
    input: Tensor,
    target: Tensor,
    *,
    reduction: str = "mean",
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """log cosh of the error: sum over the outputs of a row, mean over rows."""
    return losses.LogCoshLoss(reduction).forward(input, target, optimizer=optimizer, loss_weight=loss_weight, term=term)


def squared_hinge_loss(
    input: Tensor,
    target: Tensor,
    *,
    reduction: str = "mean",
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """Targets are -1 or 1; sum over the outputs of a row, mean over rows."""
    return losses.SquaredHingeLoss(reduction).forward(
        input, target, optimizer=optimizer, loss_weight=loss_weight, term=term
    )


def focal_loss(
    input: Tensor,
    target: Tensor,
    *,
    gamma: float = 2.0,
    alpha: float = 0.25,
    reduction: str = "mean",
    optimizer: Any = None,
    loss_weight: float = 1.0,
    term: int | None = None,
) -> Tensor:
    """Sigmoid focal loss; targets are 0 or 1; sum over the outputs of a row, mean over rows."""
    return losses.FocalLoss(gamma, alpha, reduction=reduction).forward(
        input, target, optimizer=optimizer, loss_weight=loss_weight, term=term
    )
